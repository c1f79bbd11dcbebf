"""How many may follow at once: in all, and of one tenant."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from rest.problems import Problem
from tenancy.callers import Caller


class Places:
    def __init__(self, most: int, of_tenant: int) -> None:
        self._most, self._of_tenant = most, of_tenant
        self._taken: Counter[int | None] = Counter()

    def __len__(self) -> int:
        return self._taken.total()

    @contextmanager
    def take(self, caller: Caller) -> Iterator[None]:
        tenant = caller.tenant_id
        if len(self) >= self._most or self._taken[tenant] >= self._of_tenant:
            raise _too_many()
        self._taken[tenant] += 1
        try:
            yield
        finally:
            self._taken[tenant] -= 1
            if not self._taken[tenant]:
                del self._taken[tenant]


def _too_many() -> Problem:
    return Problem(
        "All places for followers are taken; come back, or poll instead.",
        code="too_many_streams",
        status=503,
        headers={"Retry-After": "5"},
    )
