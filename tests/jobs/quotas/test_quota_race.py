"""A quota made while GPUs are being freed still counts right."""

from threading import Thread
from typing import Any

import pytest
from django.db import connection, transaction

from clusters import services
from jobs.attempts import attempts_end
from jobs.models import Attempt, GpuQuota
from jobs.services import quotas
from scheduler_service.factories import hold
from tenancy import services as tenancy_services
from tenancy.callers import SYSTEM
from tests.clusters.conftest import NOW, make_node

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def held() -> Attempt:
    tenant = tenancy_services.tenant_create(SYSTEM, {"name": "acme", "display_name": "Acme"})
    services.cluster_create(caller=SYSTEM, values={"name": "berlin"})
    gpu_type = {"name": "A100", "memory_mib": 1, "idle_w": 1, "max_w": 2}
    services.gpu_type_create(caller=SYSTEM, values=gpu_type)
    attempt = hold(tenant, make_node("n1"))
    type(tenant).objects.update(gpus_in_use=1)
    return attempt


def in_thread(work: Any) -> Thread:
    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = Thread(target=run)
    thread.start()
    return thread


def test_freeing_waits_for_the_new_quota(held: Attempt) -> None:
    """Without the nodes locked, the end would miss the row and leave its count too high."""
    with transaction.atomic():
        wanted = {"tenant_id": held.tenant_id, "gpu_type": "A100", "gpus": 4}
        quotas.gpu_quota_create(SYSTEM, wanted)
        ending = in_thread(
            lambda: attempts_end([held.pk], state=Attempt.State.ENDED, reason="done", now=NOW)
        )
        ending.join(timeout=0.3)
        assert ending.is_alive()
        assert GpuQuota.objects.get().gpus_in_use == 1
    ending.join(timeout=10)
    assert GpuQuota.objects.get().gpus_in_use == 0
