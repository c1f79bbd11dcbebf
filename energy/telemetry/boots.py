"""Boots of nodes by number, looked up once per process."""

from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache

from clusters.models import Gpu
from energy.models import Boot

# A node that reboots more often than this is making boots up.
MOST_PER_DAY = 50


def boot_number(node_id: int, boot_id: str, *, now: datetime) -> int | None:
    """The boot's key; None for a node that has reported too many."""
    with suppress(Boot.DoesNotExist):
        return _known(node_id, boot_id)
    recent = Boot.objects.filter(node=node_id, first_seen_at__gt=now - timedelta(days=1))
    if recent.count() >= MOST_PER_DAY:
        return None
    boot, _ = Boot.objects.get_or_create(
        node_id=node_id, boot_id=boot_id, defaults={"first_seen_at": now}
    )
    return boot.pk


@lru_cache(maxsize=16_384)
def _known(node_id: int, boot_id: str) -> int:
    """One that is not there yet raises, which is not remembered."""
    return Boot.objects.values_list("pk", flat=True).get(node=node_id, boot_id=boot_id)


@lru_cache(maxsize=16_384)
def gpus_of(node_id: int, epoch: int) -> dict[str, int]:
    """Keys by uuid; a node's GPUs change only when it registers, which raises its epoch."""
    return dict(Gpu.objects.filter(node=node_id).values_list("uuid", "pk"))
