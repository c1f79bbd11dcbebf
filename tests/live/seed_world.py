"""Two tenants with one row of everything, on machines that both may see."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from django.db import connection

from tests.live.seed_machines import Machines
from tests.live.seed_tenant import Marks, seed_tenant
from tests.live.seed_tokens import secrets
from tests.live.seed_whatif import seed_forecast, seed_whatif
from tests.live.world import CANARY, THEIR_IDS_FROM, World

NOW = datetime(2026, 1, 31, 8, tzinfo=UTC)


def seeded() -> World:
    machines = Machines(NOW)
    seed_forecast(machines, NOW)
    ours = seed_tenant(machines, Marks("ours"), gpu=0, now=NOW)
    seed_whatif(machines, ours, NOW)
    with their_ids():
        theirs = seed_tenant(machines, Marks(CANARY), gpu=1, now=NOW)
        seed_whatif(machines, theirs, NOW)
    machines.run_round(NOW + timedelta(minutes=1))
    for owned in (ours, theirs):
        owned.mark_decisions()
    return World(
        secrets=secrets(ours, theirs, NOW),
        ours=ours.ids,
        theirs=theirs.ids,
        shared=machines.ids,
    )


@contextmanager
def their_ids() -> Iterator[None]:
    """Every id given inside begins with the same digits."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT seqrelid::regclass::text, coalesce(pg_sequence_last_value(seqrelid), 0)"
            " FROM pg_sequence JOIN pg_class c ON c.oid = seqrelid"
            " WHERE c.relnamespace = 'public'::regnamespace AND seqtypid = 'bigint'::regtype"
        )
        before = cursor.fetchall()
        for name, _ in before:
            cursor.execute("SELECT setval(%s, %s)", [name, THEIR_IDS_FROM])
        yield
        for name, last in before:
            cursor.execute("SELECT setval(%s, %s)", [name, last + 1])
