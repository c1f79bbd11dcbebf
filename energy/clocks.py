"""Whether GPUs run at the clocks that rounds set: read back from telemetry, remarked upon if not.

A clock below the wanted one has other causes (heat, a power cap, nothing to do); one above it was
not obeyed. The remark stays until the GPU is seen to obey.
"""

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection

from clusters.models import Gpu

logger = logging.getLogger(__name__)

MINUTE = timedelta(seconds=60)
# Drivers round clocks to steps of 15 MHz.
SHARE, STEP_MHZ = 0.02, 15

# Only clocks that have been set for the whole minute, and samples of the attempt they are for.
_READ_BACK = """
SELECT gpu.id, gpu.remark, node.name, attempt.clock_mhz, avg(sample.clock_mhz)::int
FROM jobs_attempt attempt
JOIN jobs_allocation held ON held.attempt_id = attempt.id AND held.released_at IS NULL
JOIN clusters_gpu gpu ON gpu.id = held.gpu_id
JOIN clusters_node node ON node.id = gpu.node_id
JOIN energy_sample sample ON sample.gpu_id = gpu.id AND sample.attempt_id = attempt.id
 AND sample.at > %(since)s AND sample.at <= %(now)s AND sample.clock_mhz IS NOT NULL
WHERE attempt.state = 'running' AND attempt.clock_mhz IS NOT NULL
  AND attempt.steered_clock_mhz IS NULL
  AND greatest(attempt.started_at, attempt.clock_at) < %(since)s
GROUP BY gpu.id, node.name, attempt.clock_mhz
"""


def clocks_verify(*, now: datetime) -> int:
    """How many GPUs do not obey."""
    with connection.cursor() as cursor:
        cursor.execute(_READ_BACK, {"since": now - MINUTE, "now": now})
        rows = cursor.fetchall()
    disobeying = 0
    for gpu_id, remark, node, wanted_mhz, read_mhz in rows:
        ignores = read_mhz > wanted_mhz * (1 + SHARE) + STEP_MHZ
        disobeying += ignores
        if ignores and not remark:
            _remark(gpu_id, node, f"clock {read_mhz} MHz while {wanted_mhz} MHz is set")
        elif remark and not ignores:
            Gpu.objects.filter(pk=gpu_id).update(remark="")
    return disobeying


def _remark(gpu_id: int, node: str, text: str) -> None:
    logger.error("node %s, GPU %s: %s", node, gpu_id, text)
    gpu = Gpu.objects.filter(pk=gpu_id)
    gpu.update(remark=text)
    if settings.CLOCK_FAULTS:
        gpu.update(healthy=False, health_reason=text)
