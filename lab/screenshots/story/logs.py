"""What the running jobs have printed so far, by rank."""

from datetime import datetime

from jobs.models import Allocation, Attempt, Log, LogChunk

LINES = 60
RANKS = 4


def make_logs(*, now: datetime) -> None:
    for attempt in Attempt.objects.filter(state="running").select_related("job"):
        held = Allocation.objects.filter(attempt=attempt).order_by("gpu_id")
        for rank, row in enumerate(held[:RANKS]):
            text = "".join(_lines(attempt, rank)).encode()
            log = Log.objects.create(
                tenant_id=attempt.tenant_id,
                attempt=attempt,
                node_id=row.node_id,
                stream="stdout",
                rank=rank,
                size=len(text),
                updated_at=now,
            )
            LogChunk.objects.create(tenant_id=attempt.tenant_id, log=log, offset=0, data=text)


def _lines(attempt: Attempt, rank: int) -> list[str]:
    done = int(attempt.job.work_done) or 4000
    return [
        f"rank {rank} step {done - LINES + number:>6}  loss {2.1 - 0.004 * number:.4f}  "
        f"{412 + (number * 7 + rank) % 19} samples/s  lr 3.0e-05\n"
        for number in range(1, LINES + 1)
    ]
