"""Nodes that do nothing but sync, once a second each."""

import asyncio
import json
from collections import Counter
from datetime import datetime
from time import perf_counter

from lab.benchmarks.strangers.wire import Link
from scheduler_service.factories import make_cluster, make_gpu_type, make_nodes
from tenancy.models import ApiToken
from tenancy.roles import Role
from tenancy.token_text import PREFIX_LENGTH, hash_of, new_secret


def joined(count: int, now: datetime) -> list[str]:
    """Tokens of nodes that have registered."""
    secrets = [new_secret(Role.NODE) for _ in range(count)]
    tokens = ApiToken.objects.bulk_create(
        ApiToken(prefix=each[:PREFIX_LENGTH], hash=hash_of(each), role=Role.NODE, name="bench")
        for each in secrets
    )
    kind = make_gpu_type("A100")
    make_nodes(make_cluster("calm"), kind, count, tokens=tokens, epoch=1, boot_id="bench",
               last_sync_at=now)  # fmt: skip
    return secrets


class SyncingNode:
    def __init__(self, url: str, token: str, taken_ms: list[float], statuses: Counter[int]) -> None:
        self._link = Link(url)
        self._token, self._taken_ms, self._statuses = token, taken_ms, statuses

    async def syncing(self) -> None:
        sequence = 0
        while True:
            sequence += 1
            body = json.dumps({"epoch": 1, "sequence": sequence, "boot_id": "bench"}).encode()
            begun_s = perf_counter()
            status, _ = await self._link.send(
                "POST", "/api/v1/agent/sync", body, Authorization=f"Bearer {self._token}"
            )
            self._taken_ms.append((perf_counter() - begun_s) * 1000)
            self._statuses[status] += 1
            await asyncio.sleep(1)
