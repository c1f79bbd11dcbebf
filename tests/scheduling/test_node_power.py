"""Nodes are switched off when empty, and are ready again once they say that they are on."""

import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings

from agent.wire import Power
from clusters.models import Cluster, Node
from clusters.services.draining import node_resume
from clusters.services.site_power import BOOT, site_power_apply
from engines.agents.loss import watch_nodes
from policies.contract.plan import Move, Piece, Plan, PowerNode
from policies.contract.snapshot import NodeState
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.apply.apply import apply_plan
from scheduling.models import Round
from scheduling.round import run_round
from scheduling.snapshot.load import load_snapshot
from tenancy.callers import SYSTEM
from tests.engines.agents.nodes import Agent, join

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster(power_off=True)


@pytest.fixture
def busy(cluster: Cluster) -> Agent:
    agent = join(cluster, "busy")
    make_jobs(cluster, make_tenant(), 1)
    run_round(cluster.pk, now=NOW)
    return agent


@pytest.fixture
def empty(cluster: Cluster, busy: Agent) -> Agent:
    return join(cluster, "empty")


def _switch(cluster: Cluster, *entries: PowerNode, **acts: object) -> list[int]:
    plan = Plan(power=entries, **acts)  # type: ignore[arg-type]
    latest = Round.objects.latest("pk")
    return apply_plan(plan, cluster_id=cluster.pk, round_id=latest.pk, now=NOW).switched


def _state(agent: Agent) -> str:
    return Node.objects.get(pk=agent.node.pk).state


def test_off_when_empty_and_on_again(cluster: Cluster, busy: Agent, empty: Agent) -> None:
    wanted = [PowerNode(busy.node.pk, on=False), PowerNode(empty.node.pk, on=False)]

    assert _switch(cluster, *wanted) == [empty.node.pk]

    assert (_state(busy), _state(empty)) == ("ready", "off")
    assert (busy.sync().power_on, empty.sync().power_on) == (True, False)
    assert load_snapshot(cluster, now=NOW, seed=0).nodes.state[1] == NodeState.OFF

    assert _switch(cluster, PowerNode(empty.node.pk, on=True)) == [empty.node.pk]
    assert _state(empty) == "joining"
    assert load_snapshot(cluster, now=NOW, seed=0).nodes.state[1] == NodeState.BOOTING
    assert empty.sync(power=Power.BOOTING).power_on
    assert _state(empty) == "joining"
    empty.sync(power=Power.ON)
    assert (_state(empty), Node.objects.get(name="empty").state_reason) == ("ready", "")


def _watch(busy: Agent, *others: Agent, power: Power = Power.ON, minutes: int = 5) -> None:
    """Time goes by, in which only these speak."""
    for seconds in range(0, minutes * 60, 5):
        now = NOW + timedelta(seconds=seconds)
        busy.sync(now=now)
        for other in others:
            other.sync(now=now, power=power)
        watch_nodes(now=now)


def test_a_node_that_was_told_to_be_off_may_be_silent(
    cluster: Cluster, busy: Agent, empty: Agent
) -> None:
    _switch(cluster, PowerNode(empty.node.pk, on=False))
    assert not empty.sync().power_on

    _watch(busy)

    assert _state(empty) == "off"


def test_a_node_that_was_gone_before_it_could_be_told_is_lost(
    cluster: Cluster, busy: Agent, empty: Agent, told: Path
) -> None:
    _switch(cluster, PowerNode(empty.node.pk, on=False))

    _watch(busy)

    assert _state(empty) == "lost"
    assert site_power_apply(now=NOW) == 0


def test_a_node_that_speaks_while_it_is_off_is_lost_when_it_does_not(
    cluster: Cluster, busy: Agent, empty: Agent
) -> None:
    _switch(cluster, PowerNode(empty.node.pk, on=False))
    empty.sync()
    _watch(busy, empty, power=Power.OFF)
    assert _state(empty) == "off"

    for seconds in range(300, 600, 5):
        busy.sync(now=NOW + timedelta(seconds=seconds))
        watch_nodes(now=NOW + timedelta(seconds=seconds))
    assert _state(empty) == "lost"

    empty.sync(now=NOW + timedelta(seconds=600), power=Power.OFF)
    assert _state(empty) == "joining", "it is off, and has to come on first"


def test_a_node_that_does_not_go_off_is_ready_again(
    cluster: Cluster, busy: Agent, empty: Agent
) -> None:
    _switch(cluster, PowerNode(empty.node.pk, on=False))
    _watch(busy, empty, minutes=20)
    assert _state(empty) == "off"

    for seconds in (1205, 1210):
        now = NOW + timedelta(seconds=seconds)
        for agent in (busy, empty):
            agent.sync(now=now)
        watch_nodes(now=now)

    assert _state(empty) == "ready"


def test_without_leave_nothing_is_switched_off(cluster: Cluster, busy: Agent, empty: Agent) -> None:
    Cluster.objects.update(power_off=False)
    assert _switch(cluster, PowerNode(empty.node.pk, on=False)) == []


def test_a_node_has_idled_since_it_joined_or_its_last_work_ended(
    cluster: Cluster, busy: Agent, empty: Agent
) -> None:
    later, end = NOW + timedelta(minutes=5), NOW + timedelta(minutes=7)
    (attempt,) = busy.sync().attempts
    busy.running(attempt)
    busy.sync()
    busy.ended(attempt)
    busy.sync(now=end)
    Node.objects.filter(pk=empty.node.pk).update(state="drained")
    node_resume(caller=SYSTEM, node=empty.node, now=later)

    nodes = load_snapshot(cluster, now=end, seed=0).nodes

    assert nodes.idle_since_s.tolist() == [end.timestamp(), later.timestamp()]


def test_an_idle_cluster_goes_off_in_time_and_wakes_under_another_policy(cluster: Cluster) -> None:
    idle = join(cluster, "idle")
    Cluster.objects.update(policy="fairwatt")
    for minutes, state in ((0, "ready"), (9, "ready"), (10, "off")):
        run_round(cluster.pk, now=NOW + timedelta(minutes=minutes))
        assert _state(idle) == state
    assert not idle.sync().power_on

    Cluster.objects.update(policy="fifo", power_off=False)
    make_jobs(cluster, make_tenant(), 3)
    assert run_round(cluster.pk, now=NOW + timedelta(minutes=11)) is not None
    assert _state(idle) == "joining"
    idle.sync()
    entry = run_round(cluster.pk, now=NOW + timedelta(minutes=12))
    assert entry is not None
    assert entry.started == 3


def test_by_default_no_node_goes_off() -> None:
    cluster = make_cluster(policy="fairwatt")
    idle = join(cluster, "idle")
    run_round(cluster.pk, now=NOW + timedelta(days=1))
    assert _state(idle) == "ready"


def test_where_a_job_is_about_to_go_stays_on(cluster: Cluster, busy: Agent, empty: Agent) -> None:
    (running,) = busy.sync().attempts
    busy.running(running)
    busy.sync()
    move = Move(running.job_id, (Piece(empty.node.pk, 1, 0, 0),))

    assert _switch(cluster, PowerNode(empty.node.pk, on=False), moves=(move,)) == []
    assert _state(empty) == "ready"


def test_what_is_not_as_the_plan_saw_it_is_left(cluster: Cluster, empty: Agent) -> None:
    assert _switch(cluster, PowerNode(empty.node.pk, on=True)) == []
    Node.objects.filter(pk=empty.node.pk).update(state="drained")
    assert _switch(cluster, PowerNode(empty.node.pk, on=False)) == []


@pytest.fixture
def told(settings: LazySettings, tmp_path: Path) -> Path:
    """A site's tool that notes what it is asked, and fails while `broken` exists."""
    script = tmp_path / "tool.py"
    script.write_text(
        "import sys, pathlib\nhere = pathlib.Path(__file__).parent\n"
        "if (here / 'broken').exists(): sys.exit('no route')\n"
        "(here / 'told').open('a').write(' '.join(sys.argv[1:3]) + '\\n')\n"
    )
    settings.POWER_COMMAND = [sys.executable, str(script)]
    return tmp_path


@pytest.mark.process
def test_the_site_is_told_once_per_change(cluster: Cluster, empty: Agent, told: Path) -> None:
    _switch(cluster, PowerNode(empty.node.pk, on=False))
    assert site_power_apply(now=NOW) == 0, "the agent has not heard it yet"
    empty.sync()
    (told / "broken").touch()
    assert site_power_apply(now=NOW) == 0
    (told / "broken").unlink()
    assert (site_power_apply(now=NOW), site_power_apply(now=NOW)) == (1, 0)
    _switch(cluster, PowerNode(empty.node.pk, on=True))
    assert site_power_apply(now=NOW) == 1
    empty.sync()
    _switch(cluster, PowerNode(empty.node.pk, on=False))
    empty.sync()
    assert site_power_apply(now=NOW) == 1

    assert (told / "told").read_text().splitlines() == ["off empty", "on empty", "off empty"]


def test_a_node_that_never_comes_on_is_lost(cluster: Cluster, empty: Agent) -> None:
    _switch(cluster, PowerNode(empty.node.pk, on=False))
    _switch(cluster, PowerNode(empty.node.pk, on=True))

    site_power_apply(now=NOW + BOOT)
    assert _state(empty) == "joining"
    site_power_apply(now=NOW + BOOT + timedelta(seconds=1))
    assert _state(empty) == "lost"


def test_an_idle_cluster_is_switched_off_too(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = join(cluster, "idle")

    class Saver:
        def plan(self, snapshot: object) -> Plan:
            return Plan(power=(PowerNode(idle.node.pk, on=False),))

    monkeypatch.setattr("policies.registry.build", lambda *_: Saver())

    entry = run_round(cluster.pk, now=NOW + timedelta(minutes=10))

    assert entry is not None
    assert (entry.status, entry.switched, _state(idle)) == ("done", 1, "off")
