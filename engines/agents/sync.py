"""The heartbeat: take what a node says, answer what it should run."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime

from django.db.models import F

from agent.wire import AttemptRef, Desired, Power, Sync
from clusters.models import Node
from clusters.node_states import State, advance
from clusters.services.site_power import SWITCHED_ON
from engines.agents.desired import wanted
from engines.agents.gpu_faults import gpus_report
from engines.agents.incoming import Answers, take_reports
from engines.agents.leases import Leases, leases, node_run_lease_s
from engines.agents.node_state import KnownNode, read_state, touch
from engines.agents.stale import StaleEpoch, StaleFences
from jobs.nudge import nudge

COUNT_EVERY_S = 5.0


class NodeLeases:
    """The leases for as many nodes as there are, counted now and then."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._counted_s, self._nodes = clock, float("-inf"), 0

    def granted(self) -> Leases:
        if self._clock() - self._counted_s > COUNT_EVERY_S:
            self._counted_s = self._clock()
            self._nodes = Node.objects.exclude(last_sync_at=None).count()
        return leases(self._nodes)


PACE = NodeLeases()


def node_sync(token_id: int, sync: Sync, *, now: datetime) -> Desired:
    node = touch(token_id, sync, now=now)
    if node is not None:
        return sync_take(token_id, node, sync, now=now)
    late = read_state(token_id, sync.epoch)
    if late is None:
        raise StaleEpoch
    return answer(late, (), PACE.granted(), now=now)


def sync_take(token_id: int, node: KnownNode, sync: Sync, *, now: datetime) -> Desired:
    """What a node says that was marked as heard; `node` is what was known of it then."""
    answers = take_reports(node, sync.attempts, boot_id=sync.boot_id, now=now)
    gpus_report(node.node_id, node.faults, sync.gpus)
    after: KnownNode | None = node
    if _changed(node, answers, sync.power, now):
        after = read_state(token_id, sync.epoch)
    if after is None:
        raise StaleEpoch
    if answers.stale:
        raise StaleFences(answers.stale)
    return answer(after, answers.acks, PACE.granted(), now=now)


def answer(
    node: KnownNode, acks: Sequence[AttemptRef], granted: Leases, *, now: datetime
) -> Desired:
    running = wanted(node, now=now)
    return Desired(
        next_sync_s=granted.next_sync_s,
        node_lease_s=granted.node_lease_s,
        run_lease_s=node_run_lease_s(granted, running.attempts),
        sample_interval_s=granted.sample_interval_s,
        upload_interval_s=granted.upload_interval_s,
        attempts=running.attempts,
        cancels=running.cancels,
        acks=tuple(acks),
        power_on=node.state != State.OFF,
    )


def _changed(node: KnownNode, answers: Answers, power: Power, now: datetime) -> bool:
    """Whether what was read of the node is no longer so."""
    itself = Node.objects.filter(pk=node.node_id)
    if answers.refused:
        itself.update(samples_refused=F("samples_refused") + answers.refused)
    # A lost node that speaks again was only out of hearing; one that is off has to come on first.
    lost = node.state == State.LOST
    if lost and power is Power.ON:
        advance(itself, sources=[State.LOST], to=State.READY, now=now, reason="")
    elif lost:
        advance(itself, sources=[State.LOST], to=State.JOINING, now=now, reason=SWITCHED_ON)
    # One that was switched on, and says so.
    back = node.state == State.JOINING and power is Power.ON
    if back:
        advance(itself, sources=[State.JOINING], to=State.READY, now=now, reason="")
        nudge(node.cluster_id)
    return lost or back or answers.moved
