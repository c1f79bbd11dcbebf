"""Which stretch of a GPU's counter belongs to an attempt, as its node reports it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from agent.wire import AttemptEnergy, AttemptReport, End, EnergyMethod, State
from energy.telemetry.boots import boot_number
from jobs.prepared_statements import fetch

# By then the readings of an attempt's last seconds have come in, too.
LAST_SAMPLES = timedelta(seconds=10)
# An hour is settled when its last readings are in.
HOUR_SETTLES = timedelta(minutes=2)

# A report that was told late dates the beginning after the end; and energy needs a time in which it
# was drawn. So the end corrects the beginning, and no stretch is shorter than this.
SHORTEST = timedelta(milliseconds=1)

# No stretch may reach into another's, nor be longer than twice the nameplate allows since the GPU
# was given away: such a reading is left out, and counted for its node.
_READ = """
WITH said AS (
    SELECT * FROM unnest(
        %(attempts)s::int8[], %(uuids)s::text[], %(starts)s::int8[], %(nows)s::int8[],
        %(integrated)s::bool[], %(finals)s::bool[], %(since)s::timestamptz[],
        %(until)s::timestamptz[], %(due)s::timestamptz[]) WITH ORDINALITY
    AS said (attempt_id, uuid, start_mj, now_mj, integrated, final, since_at, until_at, due_at, row)
), reported AS (
    SELECT said.*, gpu.id AS gpu_id, allocation.tenant_id,
           2.0 * kind.max_w
               * (extract(epoch FROM said.until_at - allocation.held_at) * 1000 + 60000) AS most_mj
    FROM said
    JOIN clusters_gpu gpu ON gpu.uuid = said.uuid AND gpu.node_id = %(node)s::int8
    JOIN clusters_node node ON node.id = gpu.node_id
    JOIN clusters_gputype kind ON kind.id = node.gpu_type_id
    JOIN jobs_allocation allocation
      ON allocation.gpu_id = gpu.id AND allocation.attempt_id = said.attempt_id
)
INSERT INTO energy_meter AS meter (tenant_id, attempt_id, gpu_id, boot_id, start_mj, now_mj,
    integrated, final, since_at, until_at, due_at)
SELECT tenant_id, attempt_id, gpu_id, %(boot)s::int8, start_mj, now_mj,
       integrated, final, since_at, until_at, due_at
FROM reported
WHERE now_mj - start_mj <= most_mj AND NOT EXISTS (
    SELECT 1 FROM energy_meter other
    WHERE other.gpu_id = reported.gpu_id AND other.boot_id = %(boot)s::int8
      AND other.attempt_id <> reported.attempt_id
      AND other.start_mj < reported.now_mj AND reported.start_mj < other.now_mj)
  AND NOT EXISTS (
    SELECT 1 FROM reported other
    WHERE other.gpu_id = reported.gpu_id AND other.row < reported.row
      AND other.start_mj < reported.now_mj AND reported.start_mj < other.now_mj)
ORDER BY attempt_id, gpu_id
ON CONFLICT (attempt_id, gpu_id) DO UPDATE SET
    now_mj = greatest(meter.now_mj, excluded.now_mj),
    integrated = meter.integrated OR excluded.integrated,
    final = excluded.final,
    since_at = CASE WHEN meter.settled_at IS NULL THEN least(meter.since_at, excluded.since_at)
        ELSE meter.since_at END,
    until_at = greatest(meter.since_at, excluded.until_at),
    due_at = excluded.due_at
WHERE NOT meter.final AND meter.boot_id = excluded.boot_id AND meter.start_mj = excluded.start_mj
RETURNING meter.gpu_id
"""

_CLOSE = """
UPDATE energy_meter SET final = true, due_at = %(due)s::timestamptz
WHERE attempt_id = ANY(%(attempts)s::int8[]) AND NOT final
  AND gpu_id IN (SELECT id FROM clusters_gpu WHERE node_id = %(node)s::int8)
RETURNING gpu_id
"""


def meters_read(
    node_id: int, boot_id: str, reports: Sequence[AttemptReport], *, now: datetime
) -> int:
    """Told when attempts begin to run and when they are over; in between samples tell.

    How many of the readings cannot be true.
    """
    refused = 0
    # After a reboot the counter on the node is another one than the attempt began with.
    read = [
        (report, energy)
        for report in reports
        if report.end is not End.NODE_REBOOTED
        for energy in report.energy
    ]
    boot = boot_number(node_id, boot_id, now=now) if read else None
    if boot is not None:
        taken = fetch(_READ, {"node": node_id, "boot": boot, **_columns(read, now)})
        refused = len(read) - len(taken)
    if over := [report.attempt_id for report in reports if report.state is State.ENDED]:
        # What could not be read at the end counts as far as it was read.
        fetch(_CLOSE, {"due": now + LAST_SAMPLES, "attempts": over, "node": node_id})
    return refused


def _columns(
    read: Sequence[tuple[AttemptReport, AttemptEnergy]], now: datetime
) -> dict[str, list[Any]]:
    until = [now - timedelta(seconds=report.ended_age_s or 0) for report, _ in read]
    finals = [report.state is State.ENDED for report, _ in read]
    return {
        "attempts": [report.attempt_id for report, _ in read],
        "uuids": [energy.uuid for _, energy in read],
        "starts": [energy.start_mj for _, energy in read],
        "nows": [energy.now_mj for _, energy in read],
        "integrated": [energy.method is EnergyMethod.INTEGRATED for _, energy in read],
        "finals": finals,
        "since": [
            at - max(timedelta(seconds=report.ran_s), SHORTEST if over else timedelta(0))
            for at, (report, _), over in zip(until, read, finals, strict=True)
        ],
        "until": until,
        "due": [now + LAST_SAMPLES if over else after_this_hour(now) for over in finals],
    }


def after_this_hour(now: datetime) -> datetime:
    return now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1) + HOUR_SETTLES
