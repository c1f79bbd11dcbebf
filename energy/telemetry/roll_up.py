"""Samples become minutes, which are kept for months."""

from datetime import datetime, timedelta

from django.db import connection

# Samples are rolled up when they are this fresh, and once more before they are forgotten.
FRESH = timedelta(minutes=3)

# A minute is only ever replaced by one of more samples: those that are gone do not take it along.
_ROLL_UP = """
INSERT INTO energy_sampleminute AS minute (gpu_id, boot_id, minute_at, samples, first_mj, last_mj,
    mean_mw, max_mw, utilisation_pct, memory_used_mib, temperature_c, clock_mhz)
SELECT sample.gpu_id, sample.boot_id, date_trunc('minute', at), count(*),
       min(energy_mj), max(energy_mj), avg(power_mw)::int, max(power_mw),
       avg(utilisation_pct)::int2, max(memory_used_mib), max(temperature_c), avg(clock_mhz)::int
FROM energy_sample sample
-- The GPU may have been taken out of its node since.
JOIN clusters_gpu gpu ON gpu.id = sample.gpu_id
WHERE at >= %(from)s AND at < %(until)s
GROUP BY 1, 2, 3
ON CONFLICT (gpu_id, minute_at, boot_id) DO UPDATE SET
    samples = excluded.samples, first_mj = excluded.first_mj, last_mj = excluded.last_mj,
    mean_mw = excluded.mean_mw, max_mw = excluded.max_mw,
    utilisation_pct = excluded.utilisation_pct, memory_used_mib = excluded.memory_used_mib,
    temperature_c = excluded.temperature_c, clock_mhz = excluded.clock_mhz
WHERE excluded.samples > minute.samples
"""


def samples_roll_up(*, now: datetime) -> None:
    """The whole minutes that have just passed."""
    until = now.replace(second=0, microsecond=0)
    roll_up(until - FRESH, until)


def roll_up(from_at: datetime, until_at: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_ROLL_UP, {"from": from_at, "until": until_at})
