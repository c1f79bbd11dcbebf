"""The variables of a job at rest: values sealed together, names beside them."""

import json

from jobs.models import Job
from tenancy.sealing import newest_key_sealed, reseal, seal, unseal

_BATCH = 1000


def sealed_env(env: dict[str, str], tenant: str) -> str:
    """`tenant` is its name, which never changes."""
    return seal(json.dumps(env), _of(tenant)) if env else ""


def opened_env(sealed: str, tenant: str) -> dict[str, str]:
    env: dict[str, str] = json.loads(unseal(sealed, _of(tenant))) if sealed else {}
    return env


def envs_reseal() -> int:
    """After a new key: how many jobs were still under an older one. Nothing else writes these."""
    changed, last = 0, 0
    while rows := list(
        Job.objects.filter(pk__gt=last)
        .exclude(sealed_env="")
        .order_by("pk")
        .values_list("pk", "sealed_env")[:_BATCH]
    ):
        last = rows[-1][0]
        for pk, sealed in rows:
            if not newest_key_sealed(sealed):
                changed += Job.objects.filter(pk=pk).update(sealed_env=reseal(sealed))
    return changed


def _of(tenant: str) -> str:
    return f"env of {tenant}"
