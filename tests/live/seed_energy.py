"""What an earlier attempt of a tenant's job printed, drew and owes."""

from datetime import datetime, timedelta
from decimal import Decimal

from clusters.models import Gpu
from energy.models import Boot, LedgerRow, Meter
from jobs.models import Attempt, Job, Log, LogChunk
from tests.live.seed_machines import Machines

HOUR = timedelta(hours=1)


def seed_energy(machines: Machines, job: Job, text: str, gpu: Gpu, now: datetime) -> None:
    attempt = Attempt.objects.create(
        tenant_id=job.tenant_id,
        job=job,
        cluster=machines.cluster,
        number=1,
        fence=10_000 + job.pk,
        state=Attempt.State.ENDED,
        reason=text,
        detail=text,
        gpus=1,
        offered_at=now - HOUR,
        ended_at=now,
    )
    owned = {"tenant_id": job.tenant_id, "attempt": attempt}
    boot, _ = Boot.objects.get_or_create(
        node=machines.node, boot_id="boot", defaults={"first_seen_at": now}
    )
    span = {"since_at": now - HOUR, "until_at": now}
    Meter.objects.create(gpu=gpu, boot=boot, start_mj=0, now_mj=1000, final=True, **span, **owned)
    LedgerRow.objects.create(
        cluster=machines.cluster,
        gpu=gpu,
        starts_at=now - HOUR,
        ends_at=now,
        gpu_mj=1000,
        host_mj=10,
        method="counter",
        pue=Decimal(1),
        currency="EUR",
        coverage=1.0,
        written_at=now,
        **owned,
    )
    log = Log.objects.create(
        node=machines.node, stream="stdout", size=len(text), closed=True, updated_at=now, **owned
    )
    LogChunk.objects.create(tenant_id=job.tenant_id, log=log, offset=0, data=text.encode())
