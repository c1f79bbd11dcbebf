"""Where a process may die: before or after a function, or the commit or fsync that follows it.

A point names a function of the product by its module and name; tests/lab/chaos/test_crash.py fails
where there is no such function any more.
"""

from dataclasses import dataclass
from enum import StrEnum


class CrashEvent(StrEnum):
    CALL = "call"
    COMMIT = "commit"  # the next one of the same thread, once the function was entered
    FSYNC = "fsync"


class CrashMoment(StrEnum):
    BEFORE = "before"
    AFTER = "after"


class Provoke(StrEnum):
    """What makes a process come by where the ordinary traffic does not."""

    NOTHING = ""
    AGENT_RESTART = "agent_restart"


@dataclass(frozen=True)
class CrashPoint:
    name: str
    module: str
    function: str
    event: CrashEvent
    when: CrashMoment
    provoke: Provoke = Provoke.NOTHING


def _both(
    name: str,
    where: str,
    event: CrashEvent = CrashEvent.CALL,
    provoke: Provoke = Provoke.NOTHING,
) -> tuple[CrashPoint, CrashPoint]:
    """On either side of it: `name.before` and `name.after`."""
    module, _, function = where.partition(":")
    before, after = (
        CrashPoint(f"{name}.{when}", module, function, event, when, provoke) for when in CrashMoment
    )
    return before, after


POINTS: tuple[CrashPoint, ...] = (
    # A request of a tenant: the effect, its idempotency key and the answer.
    *_both("submit", "jobs.services.submit:job_submit"),
    *_both("submit.commit", "jobs.services.store:submit_drafts", CrashEvent.COMMIT),
    *_both("key", "rest.idempotency:Claim.keep"),
    *_both("cancel", "jobs.services.cancel:job_cancel"),
    *_both("cancel.commit", "jobs.services.cancel:job_cancel", CrashEvent.COMMIT),
    *_both("nudge.send", "jobs.nudge:_publish"),
    # A round: what is seen, planned, recorded and carried out.
    *_both("round.claim", "scheduling.due:round_claim"),
    *_both("round.plan", "scheduling.round:load_and_plan"),
    *_both("round.record", "scheduling.record:planned"),
    *_both("round.applied", "scheduling.record:applied"),
    *_both("place.commit", "scheduling.apply.allocate:place", CrashEvent.COMMIT),
    *_both("place.hold", "scheduling.apply.allocate:_hold"),
    *_both("preempt.commit", "scheduling.apply.apply:_preempt", CrashEvent.COMMIT),
    # A sync of an agent: what it reports, what it is told.
    *_both("sync", "engines.agents.sync:node_sync"),
    *_both("sync.touch", "engines.agents.node_state:touch"),
    *_both("ends.commit", "engines.agents.endings:_end", CrashEvent.COMMIT),
    *_both("report.commit", "engines.agents.incoming:_apply", CrashEvent.COMMIT),
    *_both("finish", "engines.agents.outcome:attempt_finish"),
    *_both("release", "jobs.attempts:attempts_end"),
    *_both("hand_out.commit", "engines.agents.desired:_hand_out", CrashEvent.COMMIT),
    *_both(
        "register.commit",
        "engines.agents.registration:node_register",
        CrashEvent.COMMIT,
        Provoke.AGENT_RESTART,
    ),
    *_both("telemetry", "engines.agents.telemetry_intake:telemetry_take"),
    *_both("logs.commit", "engines.agents.log_intake:logs_take", CrashEvent.COMMIT),
    *_both("watch", "engines.agents.loss:watch_nodes"),
    # Energy: readings and the ledger.
    *_both("meters", "energy.ledger.meters:meters_read"),
    *_both("digest", "energy.telemetry.digest:samples_digest"),
    *_both("settle.commit", "energy.ledger.settle:settle", CrashEvent.COMMIT),
    # The agent: what it promises itself, says and hears.
    *_both("agent.register", "agent.talk.client:ServiceClient.register",
           provoke=Provoke.AGENT_RESTART),
    *_both("agent.sync", "agent.talk.client:ServiceClient.sync"),
    *_both("agent.telemetry", "agent.talk.client:ServiceClient.telemetry"),
    *_both("agent.logs", "agent.talk.client:ServiceClient.logs"),
    *_both("agent.accept", "agent.talk.messages:NodeMessages.accept"),
    *_both("agent.lease", "agent.remember.lease:RunLease.renew"),
    *_both("agent.hold", "agent.remember.attempt_store:AttemptStore.hold"),
    *_both("agent.hold.fsync", "agent.remember.attempt_store:AttemptStore.hold", CrashEvent.FSYNC),
    *_both("agent.launch", "agent.run.launch:Launcher.launch"),
    *_both("agent.conclude", "agent.run.stop:AttemptStopper.conclude"),
    *_both("agent.release.fsync", "agent.remember.attempt_store:AttemptStore.release",
           CrashEvent.FSYNC),
    *_both("agent.ack.fsync", "agent.remember.attempt_store:AttemptStore.ack", CrashEvent.FSYNC),
)  # fmt: skip
