"""Which stretch of a GPU's counter belongs to an attempt, as its node reports it."""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from agent.wire import AttemptReport, End, EnergyMethod, State
from energy.telemetry.boots import boot_number

# By then the readings of an attempt's last seconds have come in, too.
LAST_SAMPLES = timedelta(seconds=10)
# An hour is settled when its last readings are in.
HOUR_SETTLES = timedelta(minutes=2)

# No stretch may reach into another's, nor be longer than twice the nameplate allows since the GPU
# was given away: such a reading is left out, and counted for its node.
_READ = """
WITH reported AS (
    SELECT gpu.id AS gpu_id, reported.start_mj, reported.now_mj, reported.integrated,
           allocation.tenant_id,
           2.0 * kind.max_w
               * (extract(epoch FROM %(until)s - allocation.held_at) * 1000 + 60000) AS most_mj
    FROM unnest(%(uuids)s::text[], %(starts)s::int8[], %(nows)s::int8[], %(integrated)s::bool[])
         AS reported (uuid, start_mj, now_mj, integrated)
    JOIN clusters_gpu gpu ON gpu.uuid = reported.uuid AND gpu.node_id = %(node)s
    JOIN clusters_node node ON node.id = gpu.node_id
    JOIN clusters_gputype kind ON kind.id = node.gpu_type_id
    JOIN jobs_allocation allocation
      ON allocation.gpu_id = gpu.id AND allocation.attempt_id = %(attempt)s
)
INSERT INTO energy_meter AS meter (tenant_id, attempt_id, gpu_id, boot_id, start_mj, now_mj,
    integrated, final, since_at, until_at, due_at)
SELECT tenant_id, %(attempt)s, gpu_id, %(boot)s, start_mj, now_mj,
       integrated, %(final)s, %(since)s, %(until)s, %(due)s
FROM reported
WHERE now_mj - start_mj <= most_mj AND NOT EXISTS (
    SELECT 1 FROM energy_meter other
    WHERE other.gpu_id = reported.gpu_id AND other.boot_id = %(boot)s
      AND other.attempt_id <> %(attempt)s
      AND other.start_mj < reported.now_mj AND reported.start_mj < other.now_mj)
ORDER BY gpu_id
ON CONFLICT (attempt_id, gpu_id) DO UPDATE SET
    now_mj = greatest(meter.now_mj, excluded.now_mj),
    integrated = meter.integrated OR excluded.integrated,
    final = excluded.final,
    until_at = greatest(meter.since_at, excluded.until_at),
    due_at = excluded.due_at
WHERE NOT meter.final AND meter.boot_id = excluded.boot_id AND meter.start_mj = excluded.start_mj
"""

_CLOSE = """
UPDATE energy_meter SET final = true, due_at = %s
WHERE attempt_id = %s AND NOT final AND gpu_id IN (SELECT id FROM clusters_gpu WHERE node_id = %s)
"""


def meters_read(node_id: int, boot_id: str, report: AttemptReport, *, now: datetime) -> int:
    """Told when an attempt begins to run and when it is over; in between samples tell.

    How many of the readings cannot be true.
    """
    refused = 0
    over = report.state is State.ENDED
    # After a reboot the counter on the node is another one than the attempt began with.
    boot = None if report.end is End.NODE_REBOOTED else boot_number(node_id, boot_id, now=now)
    with connection.cursor() as cursor:
        if boot is not None and report.energy:
            cursor.execute(_READ, _values(node_id, boot, report, over, now))
            refused = len(report.energy) - cursor.rowcount
        if over:
            # What could not be read at the end counts as far as it was read.
            cursor.execute(_CLOSE, [now + LAST_SAMPLES, report.attempt_id, node_id])
    return refused


def _values(
    node_id: int, boot: int, report: AttemptReport, over: bool, now: datetime
) -> dict[str, Any]:
    until = now - timedelta(seconds=report.ended_age_s or 0)
    return {
        "node": node_id,
        "attempt": report.attempt_id,
        "boot": boot,
        "uuids": [energy.uuid for energy in report.energy],
        "starts": [energy.start_mj for energy in report.energy],
        "nows": [energy.now_mj for energy in report.energy],
        "integrated": [energy.method is EnergyMethod.INTEGRATED for energy in report.energy],
        "final": over,
        "since": until - timedelta(seconds=report.ran_s),
        "until": until,
        "due": now + LAST_SAMPLES if over else after_this_hour(now),
    }


def after_this_hour(now: datetime) -> datetime:
    return now.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1) + HOUR_SETTLES
