"""What the node says and does about answers: news, leases, power, logs, and what it forgets."""

from pathlib import Path

import pytest

from agent.devices.base import Device, HostFacts
from agent.housekeeping import LOG_PATIENCE_S, Housekeeping
from agent.remember.journal import COMPACT_AFTER, Journal
from agent.run import processes
from agent.talk.identity import Identity
from agent.talk.log_upload import LogUpload
from agent.talk.messages import NodeMessages
from agent.wire import Desired, End, LogOffset, LogsTaken, Power, Registered, Stream
from tests.agent import messages as examples
from tests.agent.fakes import ONE, RUN_LEASE_S, SupervisedNode, attempt


class FakeDeviceSet:
    """A node that can be switched, and remembers how often it was."""

    driver, clocks, power_caps = "fake", True, True
    devices: tuple[Device, ...] = ()
    host: HostFacts | None = None

    def __init__(self) -> None:
        self.power = Power.ON
        self.switched: list[bool] = []

    def switch(self, *, on: bool) -> None:
        self.power = Power.ON if on else Power.OFF
        self.switched.append(on)

    def close(self) -> None: ...


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SupervisedNode:
    return SupervisedNode(tmp_path, monkeypatch)


@pytest.fixture
def device_set() -> FakeDeviceSet:
    return FakeDeviceSet()


@pytest.fixture
def messages(node: SupervisedNode, device_set: FakeDeviceSet) -> NodeMessages:
    return NodeMessages(
        identity=Identity("0123456789abcdef"),
        inventory=examples.REGISTER.inventory,
        join_token="fw_j_0123456789",
        state_dir=node.state_dir,
        supervisor=node.supervisor,
        log_upload=LogUpload(),
        device_set=device_set,
        lease=node.lease,
        boot_id=node.boot_id,
        clock=node.clock,
    )


@pytest.fixture
def housekeeping(node: SupervisedNode, messages: NodeMessages) -> Housekeeping:
    return Housekeeping(
        node.journal,
        node.supervisor.attempts.store,
        node.supervisor.gpus.controls,
        messages.log_upload,
        node.artifacts(),
        node.state_dir,
        node.clock,
    )


def desired(*attempts: object, **changes: object) -> Desired:
    return Desired(1.0, 10.0, RUN_LEASE_S, attempts=attempts, **changes)  # type: ignore[arg-type]


def test_the_join_token_is_said_only_without_a_node_token(messages: NodeMessages) -> None:
    assert messages.register(None).join_token == "fw_j_0123456789"
    assert messages.register("fw_n_0123456789").join_token is None


def test_who_is_admitted_goes_on_with_the_new_token_or_the_one_it_has(
    messages: NodeMessages,
) -> None:
    assert messages.admitted(Registered(5, 1, 1, 1, 5, 10, 120, "fw_n_first00")) == "fw_n_first00"
    assert messages.admitted(Registered(5, 2, 1, 1, 5, 10, 120)) == "fw_n_first00"


def test_every_change_of_an_attempt_is_news_until_it_is_said(
    node: SupervisedNode, messages: NodeMessages
) -> None:
    assert not messages.has_news()
    for change in (
        lambda: node.accept(ONE),
        lambda: node.claim(ONE),
        node.accept,
        lambda: node.exits(ONE, "stopped"),
    ):
        change()
        assert messages.has_news()
        first, second = messages.sync(3), messages.sync(3)
        assert second.sequence == first.sequence + 1
        assert not messages.has_news()


def test_a_late_answer_neither_renews_the_lease_nor_ends_it(
    node: SupervisedNode, messages: NodeMessages
) -> None:
    messages.accept(desired(), node.clock() - RUN_LEASE_S)
    assert node.lease.lapsed
    messages.accept(desired(), node.clock())
    messages.accept(desired(), node.clock() - RUN_LEASE_S)
    assert not node.lease.lapsed


def test_a_node_is_switched_off_only_when_it_is_empty(
    node: SupervisedNode, messages: NodeMessages, device_set: FakeDeviceSet
) -> None:
    messages.accept(desired(ONE), node.clock())
    messages.accept(desired(power_on=False), node.clock())
    assert device_set.switched == []
    node.exits(ONE, "stopped")
    messages.accept(desired(power_on=False), node.clock())
    messages.accept(desired(power_on=False), node.clock())
    assert device_set.switched == [False]
    messages.accept(desired(), node.clock())
    assert device_set.switched == [False, True]


def test_a_sync_says_who_holds_each_gpu_and_how_it_is_set(
    node: SupervisedNode, messages: NodeMessages
) -> None:
    node.accept(attempt(clock_mhz=1200))
    node.gpus["GPU-b"].lost = True
    node.supervisor.gpus.sampler.sample()
    held, lost = messages.sync(3).gpus
    assert (held.attempt_id, held.clock_mhz, held.healthy) == (7, 1200, True)
    assert (lost.attempt_id, lost.healthy, lost.health_reason) == (None, False, "gone")


@pytest.mark.parametrize(("image", "foreign"), [(None, (99,)), ("registry.example/train:1", ())])
def test_processes_of_nobody_are_named_unless_a_container_may_be_theirs(
    node: SupervisedNode,
    messages: NodeMessages,
    monkeypatch: pytest.MonkeyPatch,
    image: str | None,
    foreign: tuple[int, ...],
) -> None:
    monkeypatch.setattr(processes, "tree", lambda pid: frozenset({pid, 12}))
    node.accept(attempt(image=image))
    node.claim(ONE, pid=11)
    node.gpus["GPU-a"].pids = frozenset({11, 12, 99})
    assert messages.sync(3).gpus[0].foreign_pids == foreign


def test_an_attempt_is_forgotten_once_it_is_acknowledged_and_its_logs_are_taken(
    node: SupervisedNode, messages: NodeMessages, housekeeping: Housekeeping
) -> None:
    node.accept(ONE)
    node.exits(ONE)
    chunks = messages.log_chunks()
    assert [(chunk.stream, chunk.final) for chunk in chunks] == [(each, True) for each in Stream]
    taken = LogsTaken(tuple(LogOffset(7, each, 0) for each in Stream))
    messages.log_upload.taken(chunks, taken)
    housekeeping.tidy()
    assert [report.end for report in node.reports()] == [End.EXITED]
    node.accept(acks=(ONE.ref,))
    housekeeping.tidy()
    assert not node.state_dir.run(ONE.ref).exists()
    assert node.supervisor.attempts.store.known(ONE.ref)


def test_logs_that_nobody_takes_are_not_kept_for_ever(
    node: SupervisedNode, housekeeping: Housekeeping
) -> None:
    node.accept(ONE)
    node.exits(ONE)
    node.accept(acks=(ONE.ref,))
    node.clock.now_s += LOG_PATIENCE_S
    housekeeping.tidy()
    assert node.state_dir.run(ONE.ref).exists()
    node.clock.now_s += 1
    housekeeping.tidy()
    assert not node.state_dir.run(ONE.ref).exists()


def test_a_long_journal_is_compacted_to_what_still_counts(
    node: SupervisedNode, housekeeping: Housekeeping
) -> None:
    node.accept(attempt(clock_mhz=1200))
    node.journal.lines = COMPACT_AFTER
    housekeeping.tidy()
    assert len(Journal(node.journal.path).entries) == 2
    node.supervisor.attempts.store.note("start", ONE.ref, pid=1)
    housekeeping.tidy()
    assert [entry["event"] for entry in Journal(node.journal.path).entries] == ["control", "hold"]
