"""From the inbox to the samples: each counted once, if it can be true.

A sample can be true if the counter rises with the boot clock, and no faster than twice what the
GPU's type can draw; and if the attempt it names has held that GPU. Others are refused and counted
for their node. True ones are kept in whatever order, and however often, they come.
"""

from django.db import connection, transaction
from django.db.models import F

from clusters.models import Node

CHUNK = 50_000
# Two workers must not read one inbox: the second would find every row locked, one by one.
LOCK = 0x5A_4D_50_4C

# Twice the nameplate, for peaks that a type's figure leaves out, and a second for coarse clocks.
_ALLOWED = "2.0 * kind.max_w * (abs(read.boot_ms - read.ref_ms) + 1000)"

_DIGEST = f"""
WITH taken AS MATERIALIZED (
    DELETE FROM energy_sampleinbox WHERE id = ANY(ARRAY(
        SELECT id FROM energy_sampleinbox ORDER BY id LIMIT %(chunk)s))
    RETURNING *
), once AS (
    SELECT DISTINCT ON (gpu_id, boot_id, sequence) *
    FROM taken ORDER BY gpu_id, boot_id, sequence, id
), lined AS (
    SELECT once.*, counter.last_sequence, counter.last_mj, counter.last_ms,
           lag(once.sequence) OVER line AS lag_sequence,
           lag(once.energy_mj) OVER line AS lag_mj, lag(once.boot_ms) OVER line AS lag_ms
    FROM once LEFT JOIN energy_gpucounter counter USING (gpu_id, boot_id)
    WINDOW line AS (PARTITION BY once.gpu_id, once.boot_id ORDER BY once.sequence)
), referred AS (
    -- What a sample is held against: its forerunner here, or the newest reading known before.
    SELECT lined.*, coalesce(sequence <= last_sequence, false) AS late,
           CASE WHEN lag_sequence > last_sequence OR last_sequence IS NULL
                THEN lag_mj ELSE last_mj END AS ref_mj,
           CASE WHEN lag_sequence > last_sequence OR last_sequence IS NULL
                THEN lag_ms ELSE last_ms END AS ref_ms
    FROM lined
), judged AS MATERIALIZED (
    SELECT read.*,
           coalesce((read.energy_mj - read.ref_mj) * CASE WHEN late THEN -1 ELSE 1 END
                    BETWEEN 0 AND {_ALLOWED}, true)
           AND (read.attempt_id IS NULL OR allocation.id IS NOT NULL) AS true_enough
    FROM referred read
    JOIN clusters_node node ON node.id = read.node_id
    JOIN clusters_gputype kind ON kind.id = node.gpu_type_id
    LEFT JOIN jobs_allocation allocation
           ON allocation.attempt_id = read.attempt_id AND allocation.gpu_id = read.gpu_id
), kept AS (
    INSERT INTO energy_sample (gpu_id, boot_id, sequence, at, boot_ms, energy_mj, power_mw,
        attempt_id, integrated, utilisation_pct, memory_used_mib, temperature_c, clock_mhz)
    SELECT gpu_id, boot_id, sequence, at, boot_ms, energy_mj, power_mw,
        attempt_id, integrated, utilisation_pct, memory_used_mib, temperature_c, clock_mhz
    FROM judged WHERE true_enough
    ON CONFLICT DO NOTHING
    RETURNING gpu_id, boot_id, sequence, at, boot_ms, energy_mj, attempt_id
), counted AS (
    INSERT INTO energy_gpucounter AS counter
        (gpu_id, boot_id, first_mj, last_mj, last_ms, last_sequence, last_at, kept_from, gap_mj)
    SELECT gpu_id, boot_id, min(energy_mj), max(energy_mj), max(boot_ms), max(sequence), max(at),
           -1, 0
    FROM kept GROUP BY gpu_id, boot_id
    ON CONFLICT (gpu_id, boot_id) DO UPDATE SET
        first_mj = least(counter.first_mj, excluded.first_mj),
        last_mj = greatest(counter.last_mj, excluded.last_mj),
        last_ms = greatest(counter.last_ms, excluded.last_ms),
        last_sequence = greatest(counter.last_sequence, excluded.last_sequence),
        last_at = greatest(counter.last_at, excluded.last_at)
), locked AS (
    -- A meter that a report is being written to learns more from that report.
    SELECT meter.id, seen.energy_mj, seen.at FROM energy_meter meter
    JOIN (SELECT attempt_id, gpu_id, boot_id, max(energy_mj) AS energy_mj, max(at) AS at
          FROM kept WHERE attempt_id IS NOT NULL GROUP BY 1, 2, 3) seen
      USING (attempt_id, gpu_id, boot_id)
    WHERE NOT meter.final AND meter.now_mj < seen.energy_mj
    FOR UPDATE OF meter SKIP LOCKED
), metered AS (
    UPDATE energy_meter meter SET now_mj = locked.energy_mj,
                                until_at = greatest(meter.until_at, locked.at)
    FROM locked WHERE meter.id = locked.id
)
SELECT node_id, count(*), count(*) FILTER (WHERE NOT true_enough) FROM judged GROUP BY node_id
"""  # noqa: S608 - composed of constants of this file


def samples_digest(*, chunk: int = CHUNK) -> int:
    """Read the inbox to its end; how many samples there were."""
    total = 0
    while read := _digest_chunk(chunk):
        total += read
    return total


def _digest_chunk(chunk: int) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit TO off")
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        if not cursor.fetchone()[0]:
            return 0
        cursor.execute(_DIGEST, {"chunk": chunk})
        counts = cursor.fetchall()
    _note_refused({node: refused for node, _, refused in counts if refused})
    return sum(read for _, read, _ in counts)


def _note_refused(refused: dict[int, int]) -> None:
    for node_id, count in sorted(refused.items()):
        node = Node.objects.filter(pk=node_id)
        node.update(samples_refused=F("samples_refused") + count)
