"""Whoever changes, deletes or adds a row of the sealed audit is found out."""

import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from psycopg.conninfo import make_conninfo

from scheduler_service import duties
from tenancy import audit, audit_seals, rls
from tenancy.audit_chain import SealBroken, audit_lines, audit_verify
from tenancy.audit_digest import GENESIS, broken_line
from tenancy.audit_seals import audit_seal, settled_id
from tenancy.callers import SYSTEM
from tenancy.models import AuditRow, AuditSeal
from tests.emptying import triggers

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
_ADD = """
INSERT INTO tenancy_auditrow
  ({id} at, role, action, object_type, request_id, changes)
SELECT {id} now(), 'operator', 'job.submit', 'job', 'r', '{{"price": 1.10, "to": "Zoë"}}'
FROM generate_series({first}, {last}) AS made(id)
"""


def _execute(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _add(count: int) -> None:
    _execute(_ADD.format(id="", first=1, last=count))


def _tamper(*statements: str) -> None:
    """As the tables' owner, who takes every wall down first."""
    open_walls = "ALTER TABLE tenancy_auditrow NO FORCE ROW LEVEL SECURITY"
    _execute(*triggers("DISABLE"), open_walls, *statements)


def _command(name: str, *args: str) -> str:
    said = io.StringIO()
    call_command(name, *args, stdout=said)
    return said.getvalue()


@pytest.fixture
def sealed(db: None, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ids of twelve rows under three seals."""
    monkeypatch.setattr(audit_seals, "SEAL_ROWS", 5)
    _add(12)
    assert audit_seal(now=NOW) == 12
    return list(AuditRow.objects.order_by("pk").values_list("pk", flat=True))


def test_the_untouched_audit_holds(sealed: list[int]) -> None:
    found = audit_verify()
    assert (found.seals, found.rows, found.unsealed_rows, found.broken) == (3, 12, 0, None)
    assert (found.last_id, found.last_digest) == (
        sealed[-1],
        AuditSeal.objects.latest("last_id").digest,
    )


def test_seals_have_no_hole_between_them(sealed: list[int]) -> None:
    seals = list(AuditSeal.objects.order_by("last_id"))
    assert (seals[0].first_id, seals[0].previous_digest) == (1, GENESIS)
    for before, after in pairwise(seals):
        assert (after.first_id, after.previous_digest) == (before.last_id + 1, before.digest)


def test_sealing_twice_is_harmless(sealed: list[int]) -> None:
    assert audit_seal(now=NOW) == 0
    assert AuditSeal.objects.count() == 3
    _add(1)
    assert audit_verify().unsealed_rows == 1
    assert audit_seal(now=NOW) == 1
    assert audit_verify().rows == 13


def test_the_sweep_seals(db: None) -> None:
    _add(2)
    duties.sweep()
    assert (audit_verify().rows, audit_verify().unsealed_rows) == (2, 0)


def test_an_empty_audit_holds(db: None) -> None:
    assert audit_seal(now=NOW) == 0
    assert (audit_verify().rows, audit_verify().last_digest) == (0, GENESIS)


@pytest.mark.parametrize(
    "column",
    [
        *("at = at + interval '1 microsecond'", "token_id = 1", "user_id = 1", "role = 'member'"),
        *("tenant_id = 1", "action = 'job.cancel'", "object_type = ''", "object_id = 1"),
        *("request_id = ''", """changes = '{"price": 1.1, "to": "Zoë"}'"""),
    ],
)
def test_a_changed_row_is_found(sealed: list[int], column: str) -> None:
    _tamper(f"UPDATE tenancy_auditrow SET {column} WHERE id = {sealed[6]}")
    found = audit_verify()
    assert found.broken is not None
    assert found.broken.why == "rows_changed"
    assert found.broken.first_id <= sealed[6] <= found.broken.last_id
    assert (found.seals, found.rows) == (1, 5)


def test_a_deleted_row_is_found(sealed: list[int]) -> None:
    _tamper(f"DELETE FROM tenancy_auditrow WHERE id = {sealed[6]}")
    broken = audit_verify().broken
    assert broken is not None
    assert (broken.why, broken.sealed_rows, broken.found_rows) == ("rows_missing", 5, 4)


@pytest.mark.parametrize("below", [1, 1000])
def test_a_row_slipped_in_is_found(sealed: list[int], below: int) -> None:
    """Also before the first that there ever was."""
    hole = sealed[0] - below
    _tamper(_ADD.format(id="id,", first=hole, last=hole))
    broken = audit_verify().broken
    assert broken is not None
    assert (broken.why, broken.sealed_rows, broken.found_rows) == ("rows_added", 5, 6)


def test_a_row_put_in_the_place_of_another_is_found(sealed: list[int]) -> None:
    one, other = sealed[2], sealed[3]
    _tamper(
        f"UPDATE tenancy_auditrow SET action = 'first' WHERE id = {one}",
        f"DELETE FROM tenancy_auditrow WHERE id = {other}",
        _ADD.format(id="id,", first=other, last=other),
    )
    broken = audit_verify().broken
    assert broken is not None
    assert broken.why == "rows_changed"


def test_a_seal_that_is_gone_is_missed(sealed: list[int]) -> None:
    _tamper("DELETE FROM tenancy_auditseal WHERE first_id = 1")
    broken = audit_verify().broken
    assert broken is not None
    assert broken.why == "does_not_follow"


def test_sealing_anew_is_found_by_a_digest_that_was_written_down(sealed: list[int]) -> None:
    noted = audit_verify().last_digest
    assert audit_verify(noted).rows == 0
    _tamper(
        f"UPDATE tenancy_auditrow SET action = 'other' WHERE id = {sealed[0]}",
        "DELETE FROM tenancy_auditseal",
    )
    audit_seal(now=NOW)
    assert audit_verify().broken is None
    with pytest.raises(CommandError, match="no seal has the digest"):
        _command("verify_audit", "--from-digest", noted)


def test_from_a_digest_on_only_what_follows_is_walked(sealed: list[int]) -> None:
    noted = AuditSeal.objects.earliest("last_id").digest
    _tamper(f"DELETE FROM tenancy_auditrow WHERE id = {sealed[0]}")
    assert (audit_verify(noted).rows, audit_verify(noted).broken) == (7, None)
    assert audit_verify().broken is not None


@pytest.mark.parametrize("table", ["tenancy_auditrow", "tenancy_auditseal"])
@pytest.mark.parametrize("sql", ["UPDATE {} SET id = id", "DELETE FROM {}", "TRUNCATE {}"])
def test_the_database_refuses_to_rewrite(sealed: list[int], table: str, sql: str) -> None:
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        _execute(sql.format(table))


@pytest.mark.parametrize(
    ("changed", "constraint"),
    [
        ({"first_id": 1000}, "audit_seal_follows"),
        ({"previous_digest": "a" * 64}, "audit_seal_follows"),
        ({"digest": "short"}, "audit_seal_hex"),
        ({"last_id": 1}, "audit_seal_range"),
        ({"count": 0}, "audit_seal_range"),
    ],
)
def test_the_database_refuses_a_seal_that_does_not_follow(
    sealed: list[int], changed: dict[str, Any], constraint: str
) -> None:
    last = AuditSeal.objects.latest("last_id")
    follows = {
        "first_id": last.last_id + 1,
        "last_id": last.last_id + 9,
        "count": 1,
        "previous_digest": last.digest,
        "digest": "b" * 64,
        "sealed_at": NOW,
    }
    with pytest.raises(IntegrityError) as refused, transaction.atomic():
        AuditSeal.objects.create(**{**follows, **changed})
    assert refused.value.__cause__.diag.constraint_name == constraint  # type: ignore[union-attr]


def test_a_connection_that_sees_one_tenant_verifies_all(sealed: list[int]) -> None:
    with rls.scope(rls.NONE):
        assert audit_verify().broken is None


def test_the_command_says_so(sealed: list[int]) -> None:
    digest = audit_verify().last_digest
    assert _command("verify_audit") == (
        f"ok: 12 rows in 3 seals, up to row {sealed[-1]}; not sealed yet: 0\n"
        f"last digest: {digest}\n"
    )
    assert json.loads(_command("verify_audit", "--json"))["last_digest"] == digest
    _tamper(f"DELETE FROM tenancy_auditrow WHERE id = {sealed[6]}")
    said = io.StringIO()
    with pytest.raises(CommandError, match="rows_missing") as refused:
        call_command("verify_audit", "--json", stdout=said)
    assert refused.value.returncode == 1
    assert json.loads(said.getvalue())["broken"]["found_rows"] == 4


def test_an_export_is_verified_without_the_service(sealed: list[int]) -> None:
    lines = _command("export_audit").splitlines()
    assert [json.loads(line)["id"] for line in lines] == sealed
    assert broken_line(lines) is None
    assert broken_line(lines, GENESIS) is None
    assert json.loads(lines[-1])["digest"] == audit_verify().last_digest
    assert json.loads(lines[0])["changes"] == '{"to": "Zoë", "price": 1.10}'


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (lambda lines: [lines[0].replace("operator", "member"), *lines[1:]], 1),
        (lambda lines: [*lines[:3], *lines[4:]], 4),
        (lambda lines: [lines[0], lines[0], *lines[1:]], 2),
        (lambda lines: lines[1:], 1),
    ],
)
def test_an_export_that_was_changed_is_found(
    sealed: list[int], spoil: Callable[[list[str]], list[str]], line: int
) -> None:
    assert broken_line(spoil(list(audit_lines(None, None))), GENESIS) == line


def test_exports_of_two_months_join(sealed: list[int]) -> None:
    later = NOW + timedelta(days=30)
    _add(3)
    audit_seal(now=later)
    first = _command("export_audit", "--to", "2026-12-01").splitlines()
    second = _command("export_audit", "--from", "2026-12-01T00:00Z").splitlines()
    assert (len(first), len(second)) == (12, 3)
    assert broken_line(second, json.loads(first[-1])["digest"]) is None
    assert _command("export_audit", "--from", "2027-01-01") == ""


def test_a_time_that_is_none_is_refused(db: None) -> None:
    with pytest.raises(CommandError, match="is no time"):
        _command("export_audit", "--from", "yesterday")


def test_nothing_is_exported_from_a_broken_seal(sealed: list[int]) -> None:
    _tamper(f"UPDATE tenancy_auditrow SET action = 'other' WHERE id = {sealed[6]}")
    lines = audit_lines(None, None)
    assert [json.loads(next(lines))["id"] for _ in range(5)] == sealed[:5]
    with pytest.raises(SealBroken, match="rows_changed"):
        next(lines)
    with pytest.raises(CommandError, match="rows_changed"):
        _command("export_audit")


def test_a_seal_costs_one_read_of_its_rows(db: None) -> None:
    _add(2500)
    audit_seal(now=NOW)
    assert AuditSeal.objects.count() == 3
    with CaptureQueriesContext(connection) as seen:
        assert audit_verify().rows == 2500
    assert len([query for query in seen if "changes::text" in query["sql"]]) == 3


@pytest.fixture
def other(transactional_db: None) -> Iterator[psycopg.Connection]:
    with _connect() as another:
        yield another


def _connect() -> psycopg.Connection:
    known = connection.settings_dict
    return psycopg.connect(
        make_conninfo(
            dbname=known["NAME"],
            user=known["USER"],
            password=known["PASSWORD"],
            host=known["HOST"],
            port=known["PORT"] or None,
            options="-c fairwatt.scope=all",
        )
    )


def test_a_row_that_is_committed_late_is_waited_for(
    other: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the lower id, and would otherwise lie under a seal that never saw it."""
    monkeypatch.setattr(audit_seals, "LOOK_EVERY_S", 0)
    other.execute(_ADD.format(id="", first=1, last=1))
    audit.record(SYSTEM, "job.cancel", None, {})
    assert audit_seal(now=NOW) == 0
    newer = AuditRow.objects.latest("pk").pk
    assert settled_id(pause=lambda _: other.commit()) == newer
    assert audit_seal(now=NOW) == 2
    assert audit_verify().rows == 2


def test_a_writer_that_came_after_the_look_holds_nothing_up(
    other: psycopg.Connection,
) -> None:
    other.execute(_ADD.format(id="", first=1, last=1))
    audit.record(SYSTEM, "job.cancel", None, {})
    newest = AuditRow.objects.latest("pk").pk

    def ends_and_begins_again(_: float) -> None:
        other.commit()
        other.execute(_ADD.format(id="", first=1, last=1))

    assert settled_id(pause=ends_and_begins_again) == newest


@pytest.mark.parametrize("seed", range(3))
def test_writers_at_once_lose_no_row(
    other: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Two write and commit in any order, and what is settled is sealed after every step."""
    monkeypatch.setattr(audit_seals, "LOOKS", 0)
    draw, written, seals = Random(seed), 0, 0
    with _connect() as another:
        for _ in range(60):
            writer = draw.choice([other, another])
            if draw.random() < 0.5:
                writer.execute(_ADD.format(id="", first=1, last=1))
                written += 1
            else:
                writer.commit()
            seals += audit_seal(now=NOW) > 0
    other.commit()
    audit_seal(now=NOW)
    found = audit_verify()
    assert (found.rows, found.unsealed_rows, found.broken) == (written, 0, None)
    assert seals > 3


def test_two_sealers_do_not_meet(other: psycopg.Connection) -> None:
    _add(3)
    other.execute("SELECT pg_advisory_xact_lock(%s)", [audit_seals.LOCK])
    assert audit_seal(now=NOW) == 0
    other.rollback()
    assert audit_seal(now=NOW) == 3
