"""A nudge is sent once per debounce, after the commit, and never holds the one who sends it."""

import threading

import pytest
from kombu.exceptions import OperationalError

from jobs import nudge as module
from jobs.nudge import DEBOUNCE_S, TASK, nudge


class Broker:
    """Counts what is sent; may be away, or slow until it is let go."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.away = False
        self.gate = threading.Event()
        self.gate.set()

    def send_task(self, name: str, args: list[int], **options: object) -> None:
        assert name == TASK
        assert options["countdown"] == DEBOUNCE_S
        self.gate.wait(10)
        if self.away:
            raise OperationalError("away")
        self.sent += args

    def settled(self) -> list[int]:
        module._sender().submit(lambda: None).result(10)
        return self.sent


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = Broker()
    monkeypatch.setattr(module, "current_app", broker)
    monkeypatch.setattr(module, "_sent_at", {})
    return broker


@pytest.mark.django_db(transaction=True)
def test_one_nudge_per_cluster_and_moment(broker: Broker) -> None:
    for cluster in (1, 1, 2, 1):
        nudge(cluster)

    assert broker.settled() == [1, 2]


@pytest.mark.django_db(transaction=True)
def test_a_later_nudge_is_sent_again(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((100.0, 100.0 + 2 * DEBOUNCE_S))
    monkeypatch.setattr(module, "monotonic", lambda: next(clock))
    nudge(1)
    assert broker.settled() == [1]
    nudge(1)

    assert broker.settled() == [1, 1]


@pytest.mark.django_db
def test_nothing_is_sent_before_the_commit(
    broker: Broker, django_capture_on_commit_callbacks: pytest.FixtureRequest
) -> None:
    with django_capture_on_commit_callbacks(execute=False) as callbacks:  # type: ignore[operator]
        nudge(1)

    assert broker.settled() == []
    assert len(callbacks) == 1


@pytest.mark.django_db(transaction=True)
def test_a_broker_that_is_away_holds_nobody_and_loses_only_time(broker: Broker) -> None:
    broker.away = True
    broker.gate.clear()

    nudge(1)
    nudge(1)
    broker.gate.set()

    assert broker.settled() == []
    assert module._sending == set()
