"""Variables and secrets, unsealed for the one answer that starts an attempt."""

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from agent.wire import SecretValue
from engines.agents.brought_along import volumes_of
from jobs.attempts import attempts_end
from jobs.lifecycle import State, advance
from jobs.models import Attempt, Job
from jobs.nudge import nudge
from jobs.sealed_env import opened_env
from tenancy.models import Secret
from tenancy.sealing import SealBroken
from tenancy.secrets import secret_values

logger = logging.getLogger(__name__)

INPUT_GONE = "input_gone"


def given_values(attempt_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """By attempt. Read anew for every answer: nothing of it stays in this process."""
    attempts = Attempt.objects.filter(pk__in=attempt_ids).select_related("job__tenant")
    return {attempt.pk: _values(attempt.pk, attempt.job) for attempt in attempts}


def _values(attempt_id: int, job: Job) -> dict[str, Any]:
    try:
        env = opened_env(job.sealed_env, job.tenant.name)
        secrets = _secrets(job)
    except SealBroken as broken:
        # `with_inputs` ends such attempts before they start; a key may be lost after that.
        logger.error("attempt %s: %s", attempt_id, broken)
        env, secrets = {}, ()
    if job.array_index is not None:
        env["FAIRWATT_ARRAY_INDEX"] = str(job.array_index)
    return {"env": env, "secrets": secrets}


def _secrets(job: Job) -> tuple[SecretValue, ...]:
    if not job.secrets:
        return ()
    values = secret_values(job.tenant_id, [use["name"] for use in job.secrets])
    return tuple(
        SecretValue(use["name"], values[use["name"]], use["variable"], use["file"])
        for use in job.secrets
        if use["name"] in values
    )


def with_inputs(attempt_ids: Sequence[int], *, now: datetime) -> list[int]:
    """Those whose jobs' inputs are all there; most jobs name none."""
    named = Attempt.objects.filter(pk__in=attempt_ids).exclude(
        job__mounts=[], job__secrets=[], job__sealed_env=""
    )
    gone = {each for each in named.values_list("pk", flat=True) if _inputs_gone(each, now=now)}
    return [each for each in attempt_ids if each not in gone]


@transaction.atomic
def _inputs_gone(attempt_id: int, *, now: datetime) -> bool:
    """Whether something that the job named at its submit is no longer there: then it has failed."""
    job = (
        Job.objects.select_for_update(of=("self",)).select_related("tenant").get(attempt=attempt_id)
    )
    missing = _missing(job)
    if not missing:
        return False
    detail = f"gone since the submit: {', '.join(missing)}"
    ended = attempts_end([attempt_id], state=Attempt.State.ENDED, reason=INPUT_GONE, now=now)
    Attempt.objects.filter(pk__in=ended).update(detail=detail)
    advance(
        [job.pk],
        sources=[State.PLACED],
        to=State.FAILED,
        reason=INPUT_GONE,
        now=now,
        detail={"detail": detail},
    )
    nudge(job.cluster_id)
    return True


def _missing(job: Job) -> Sequence[str]:
    gone = []
    if job.mounts:
        volumes = volumes_of(job)
        names = [mount["volume"] for mount in job.mounts]
        gone += [f"volume {name}" for name in names if name not in volumes]
    if job.secrets:
        wanted = {use["name"] for use in job.secrets}
        rows = Secret.objects.filter(tenant=job.tenant_id, name__in=wanted)
        gone += [f"secret {name}" for name in sorted(wanted - {row.name for row in rows})]
    if not gone and (job.sealed_env or job.secrets):
        try:
            opened_env(job.sealed_env, job.tenant.name)
            _secrets(job)
        except SealBroken:
            gone.append("the key that its values were sealed with")
    return gone
