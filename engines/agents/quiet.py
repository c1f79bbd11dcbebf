"""Whether a sync brings nothing that must be written down, and what else it says then."""

from agent.wire import AttemptReport, Power, Sync
from agent.wire import State as ReportState
from clusters.node_states import State
from engines.agents.gpu_faults import fault_of
from engines.agents.incoming import BEGUN, Stage
from engines.agents.node_state import KnownNode, OpenAttempt
from jobs.models import Attempt, Part


def is_quiet(node: KnownNode, sync: Sync) -> bool:
    """Then the answer needs no look at the database, and progress is all there is to note.

    `node.faults` may leave out GPUs without a fault.
    """
    return (
        not _comes_back(node, sync.power)
        and all(node.faults.get(gpu.uuid, "") == fault_of(gpu) for gpu in sync.gpus)
        and all(_is_known(node, report) for report in sync.attempts)
        and not _differs(node, sync)
    )


def progress_in(node: KnownNode, sync: Sync) -> list[AttemptReport]:
    """Of a quiet sync."""
    return [report for report in sync.attempts if _stage(node.held[report.attempt_id]).news(report)]


def _comes_back(node: KnownNode, power: Power) -> bool:
    return node.state == State.LOST or (node.state == State.JOINING and power is Power.ON)


def _is_known(node: KnownNode, report: AttemptReport) -> bool:
    held = node.held.get(report.attempt_id)
    return (
        held is not None
        and held.fence == report.fence
        and held.part_state is not None
        and held.fetching == (report.fetching is not None)
        and not _stage(held).further(report)
    )


def _differs(node: KnownNode, sync: Sync) -> bool:
    """An attempt is to be handed out, or the node began or ceased to speak of one."""
    reported = {report.attempt_id for report in sync.attempts}
    return any(
        _is_handed_out(held)
        or (held.part_state in BEGUN and (held.attempt_id not in reported) != held.unreported)
        or (_never_began(held) and held.attempt_id not in reported)
        for held in node.held.values()
    )


def _is_handed_out(held: OpenAttempt) -> bool:
    """Until it runs, each answer brings its values, which are read anew."""
    begins = held.part_state in {None, Part.State.STARTING}
    return begins and held.state != Attempt.State.STOPPING


def _never_began(held: OpenAttempt) -> bool:
    return held.part_state == Part.State.STARTING and held.state == Attempt.State.STOPPING


def _stage(held: OpenAttempt) -> Stage:
    return Stage(held.part_state or "", held.progress_step, held.checkpoint_step)


def acknowledged(sync: Sync) -> list[AttemptReport]:
    """Of a quiet sync: the ends, all of which are known already."""
    return [report for report in sync.attempts if report.state is ReportState.ENDED]
