"""Nobody does what is not theirs to do, and no byte of one tenant reaches another."""

from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import pytest

from tests.live.access import Wrong, access, allowed, wrong_callers
from tests.live.conftest import Live
from tests.live.operations import SAFE, Operation, operations
from tests.live.world import CANARY, World, leaks

EVERY_OPERATION = pytest.mark.parametrize("operation", operations(), ids=str)
STREAM = {"Accept": "text/event-stream"}


def ask(
    live: Live, caller: str, operation: Operation, whose: str = "ours", **more: Any
) -> httpx.Response:
    headers = {**operation.headers(), **more.pop("headers", {})}
    body = {} if operation.body is None or "content" in more else {"json": operation.body}
    address = operation.address(live.world, whose)
    return live.send(caller, operation.method, address, headers=headers, **{**body, **more})


def everything(answer: httpx.Response) -> str:
    """All bytes that were received, but for the address that was asked for."""
    text = f"{answer.headers.raw!r} {answer.content.decode('utf-8', 'replace')}"
    return text.replace(answer.request.url.path, "")


# The matrix: every operation x everybody who must not use it.


@EVERY_OPERATION
def test_wrong_callers_are_refused_and_change_nothing(live: Live, operation: Operation) -> None:
    for wrong in wrong_callers(operation):
        answer = ask(live, wrong.caller, operation, wrong.whose)
        assert answer.status_code == wrong.status, (wrong, answer.text)
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["code"]
        if not wrong.caller.startswith("their_"):
            assert not leaks(everything(answer)), wrong
    assert live.database.changes() == {}


@EVERY_OPERATION
def test_somebody_may_use_it(changing_live: Live, operation: Operation) -> None:
    """Otherwise the refusals above would prove nothing."""
    caller = "admin" if "admin" in allowed(operation) else min(allowed(operation))
    answer = ask(changing_live, caller, operation)
    assert answer.status_code not in {401, 403}, answer.text
    assert answer.status_code < 500, answer.text


def test_the_matrix_has_every_kind_of_wrong_caller() -> None:
    found = {wrong.caller for operation in operations() for wrong in wrong_callers(operation)}
    assert found >= {"none", "malformed", "expired", "revoked", "node", "attempt", "member"}
    assert found >= {"admin", "operator", "their_admin", "their_member"} - {"operator"}
    crossing = Wrong("admin", "theirs", 404)
    owned = [o for o in operations() if access(o).owned and o.names_a_row and "admin" in allowed(o)]
    assert all(crossing in wrong_callers(operation) for operation in owned)
    assert len(owned) > 10


# The canary: every text and every id of the other tenant is marked.


def their_values(world: World) -> dict[str, Any]:
    """What one can know of the other tenant, by the name under which one would send it."""
    return {
        "tenant": f"{CANARY}-tenant",
        "tenant_id": world.theirs["tenants"],
        "profile": f"{CANARY}-profile",
        "name": f"{CANARY}-job",
        "array": world.theirs["arrays"],
        "job": world.theirs["jobs"],
        "token_id": world.theirs["tokens"],
        "object_id": world.theirs["jobs"],
        "action": f"{CANARY}-action",
        "object_type": f"{CANARY}-type",
        "depends_on": [{"job": world.theirs["jobs"]}],
    }


def requests_of_ours(operation: Operation, world: World) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a curious tenant could try: own ids, their ids, filters, faults."""
    yield "ours", {}
    if operation.names_a_row:
        yield "theirs", {}
    for name in operation.query:
        yield "ours", {"params": {name: str(their_values(world).get(name, 1))}}
    if operation.body is not None:
        yield "ours", {"json": {"unknown": 1}}
        yield "ours", {"content": b"{"}


def curious(every: Sequence[Operation]) -> Iterator[tuple[str, Operation]]:
    """Reads, writes, deletes, and reads again: what a write leaves behind is looked at too."""
    reads = [operation for operation in every if operation.method in SAFE]
    writes = sorted(set(every) - set(reads), key=lambda o: (o.method == "DELETE", o.id))
    yield from (("member", operation) for operation in reads)
    yield from (("admin", operation) for operation in (*reads, *writes, *reads))


def leaked_to_ours(live: Live) -> dict[str, list[str]]:
    """What of the other tenant our tenant got to see, over all operations."""
    found: dict[str, list[str]] = {}
    for caller, operation in curious(operations()):
        for whose, more in requests_of_ours(operation, live.world):
            answer = ask(live, caller, operation, whose, **more)
            if seen := leaks(everything(answer)):
                found.setdefault(f"{operation.id} as {caller}", []).extend(seen)
    return found


def test_no_byte_of_the_other_tenant_is_sent_to_ours(changing_live: Live) -> None:
    assert leaked_to_ours(changing_live) == {}


def test_row_level_security_alone_holds_it_too(live_without_filters: Live) -> None:
    assert leaked_to_ours(live_without_filters) == {}


def test_the_filters_alone_hold_it_too(changing_live: Live) -> None:
    guarded = changing_live.database.guarded_tables()
    assert "jobs_job" in guarded
    with changing_live.database.without_row_level_security(*guarded):
        assert leaked_to_ours(changing_live) == {}


def test_with_both_walls_down_the_leak_is_seen(live_without_filters: Live) -> None:
    """The detector detects: each guarded table is behind at least one operation it watches."""
    database = live_without_filters.database
    with database.without_row_level_security(*database.guarded_tables()):
        found = leaked_to_ours(live_without_filters)
    seen = {name.partition(" ")[0] for name in found}
    lists = {o.id for o in operations() if access(o).owned and o.id.endswith("_list")}
    # Of jobs: rows of another's are only asked for by their job, which is looked for first.
    assert seen >= lists - {"job_events_list", "job_artifacts_list"}
    assert {"jobs_retrieve", "jobs_explain", "job_events_list", "rounds_decisions"} <= seen


def test_a_stream_of_events_is_the_tenants_own(live: Live) -> None:
    """Of jobs that have ended, because the stream of any other would go on."""
    ours, theirs = (
        live.send("member", "GET", f"/api/v1/jobs/{ids['ended jobs']}/events/", headers=STREAM)
        for ids in (live.world.ours, live.world.theirs)
    )
    assert ours.headers["Content-Type"] == STREAM["Accept"]
    assert '"reason":"ours-succeeded"' in ours.text
    assert theirs.status_code == 404
    assert not leaks(everything(ours) + everything(theirs))


# References to the other tenant's rows inside bodies.


def bodies_naming_theirs(operation: Operation, world: World) -> Iterator[Any]:
    """The example with one member after the other replaced by something of theirs."""
    values = their_values(world)
    for name in ("tenant", "tenant_id", "profile", "depends_on"):
        yield from replaced(operation.body, operation.body_schema, name, values[name])


def replaced(body: Any, schema: Any, name: str, value: Any) -> Iterator[Any]:
    if not isinstance(schema, dict) or not isinstance(body, dict):
        return
    for member, said in schema.get("properties", {}).items():
        if member == name:
            yield {**body, member: value}
        elif isinstance(body.get(member), dict):
            for inner in replaced(body[member], said, name, value):
                yield {**body, member: inner}


def test_bodies_cannot_name_what_is_theirs(live: Live) -> None:
    tried = 0
    for operation in operations():
        if "admin" not in allowed(operation):
            continue
        for body in bodies_naming_theirs(operation, live.world):
            answer = ask(live, "admin", operation, json=body)
            tried += 1
            assert 400 <= answer.status_code < 500, (operation.id, body, answer.text)
            assert answer.json()["errors"], (operation.id, body)
            assert not leaks(everything(answer)), operation.id
    assert tried >= 8
    assert live.database.changes() == {}


def test_bulk_items_cannot_name_what_is_theirs(live: Live) -> None:
    job = {"name": "x", "cluster": "demo", "argv": ["true"]}
    values = their_values(live.world)
    items = [{**job, name: values[name]} for name in ("tenant", "profile", "depends_on")]
    answer = live.send("admin", "POST", "/api/v1/jobs/bulk/", json={"jobs": items})
    assert answer.status_code == 200
    assert [item["status"] for item in answer.json()["items"]] == [409, 409, 409], answer.text
    assert not leaks(everything(answer))
    assert live.database.changes() == {}


def test_an_idempotency_key_of_theirs_replays_nothing_to_ours(changing_live: Live) -> None:
    first, second = (
        changing_live.send(
            caller,
            "POST",
            "/api/v1/tokens/",
            json={"name": "same", "role": "member"},
            headers={"Idempotency-Key": "same"},
        )
        for caller in ("their_admin", "admin")
    )
    assert (first.status_code, second.status_code) == (201, 201)
    assert "Idempotent-Replay" not in second.headers
    assert second.json()["tenant_id"] == changing_live.world.ours["tenants"]
    assert second.json()["secret"] != first.json()["secret"]
