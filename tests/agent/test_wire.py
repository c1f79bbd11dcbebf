"""The protocol's messages: what goes out comes back, and nothing else gets in."""

import json
import subprocess
import sys
from typing import Any

import pytest

from agent.wire import (
    MAX_CHUNK_BYTES,
    MAX_SAMPLES,
    Desired,
    LogPiece,
    Logs,
    LogsTaken,
    Register,
    Registered,
    ReportedProblem,
    Stream,
    Sync,
    Telemetry,
    WireError,
    decode,
    decode_answer,
    decode_desired,
    encode,
)
from tests.agent import messages

MESSAGES = [
    messages.REGISTER,
    messages.SYNC,
    messages.DESIRED,
    messages.TELEMETRY,
    Registered(1, 2, 1.0, 1.0, 5.0, 10.0, 120.0, "fw_n_0123456789"),
    Logs(2, (LogPiece(7, 70, Stream.STDERR, 5, b"\xff\x00 not text", final=True),)),
    LogsTaken(()),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_comes_back_as_it_was_sent(message: object) -> None:
    assert decode(type(message), encode(message)) == message


def changed(message: object, pointer: str, value: Any) -> bytes:
    """The message's JSON with one place set to another value."""
    document = json.loads(encode(message))
    *way, last = pointer.strip("/").split("/")
    place = document
    for step in way:
        place = place[int(step)] if isinstance(place, list) else place[step]
    place[int(last) if isinstance(place, list) else last] = value
    return json.dumps(document).encode()


WORKDIR = "/attempts/0/workdir"
COMMIT = {"url": "https://git.example/repo.git", "commit": "0" * 40}
REFUSED = [
    (messages.SYNC, "/epoch", 0, "/epoch"),
    (messages.SYNC, "/epoch", "2", "/epoch"),
    (messages.SYNC, "/epoch", True, "/epoch"),
    (messages.SYNC, "/epoch", 2**63, "/epoch"),
    (messages.SYNC, "/epoch", 1.5, "/epoch"),
    (messages.SYNC, "/attempts/0/ran_s", -1, "/attempts/0/ran_s"),
    (messages.SYNC, "/attempts/0/ran_s", float("nan"), ""),
    (messages.SYNC, "/attempts/0/ran_s", float("inf"), ""),
    (messages.SYNC, "/attempts", {}, "/attempts"),
    (messages.SYNC, "/attempts/0/state", "asleep", "/attempts/0/state"),
    (messages.SYNC, "/attempts/0/state", "running", "/attempts/0/end"),
    (messages.SYNC, "/attempts/0/end", None, "/attempts/0/end"),
    (messages.SYNC, "/attempts/0/exit_code", 256, "/attempts/0/exit_code"),
    (messages.SYNC, "/attempts/0/energy/0/now_mj", 9, "/attempts/0/energy/0/now_mj"),
    (messages.SYNC, "/attempts/0/detail", "x" * 2001, "/attempts/0/detail"),
    (messages.SYNC, "/attempts/0/detail", "nul \0", "/attempts/0/detail"),
    (messages.SYNC, "/attempts/0/detail", "half \ud800", "/attempts/0/detail"),
    (messages.SYNC, "/gpus/0/uuid", "../etc", "/gpus/0/uuid"),
    (messages.SYNC, "/gpus/0/healthy", 1, "/gpus/0/healthy"),
    (messages.SYNC, "/gpus/0/energy_mj", -1, "/gpus/0/energy_mj"),
    (messages.SYNC, "/gpus/0/colour", "red", "/gpus/0"),
    (messages.REGISTER, "/inventory/name", "Node 1", "/inventory/name"),
    (messages.REGISTER, "/inventory/gpus/0/index", 64, "/inventory/gpus/0/index"),
    (messages.REGISTER, "/inventory/gpus/0/idle_w", 401, "/inventory/gpus/0/idle_w"),
    (messages.REGISTER, "/inventory/gpus/0/clocks_mhz", [2, 1], "/inventory/gpus/0/clocks_mhz"),
    (messages.REGISTER, "/join_token", "a b c d e f", "/join_token"),
    (messages.TELEMETRY, "/samples/0/power_mw", 10**15, "/samples/0/power_mw"),
    (messages.TELEMETRY, "/samples/0/boot_ms", 2001, "/sent_boot_ms"),
    (messages.TELEMETRY, "/samples/0/temperature_c", 1000, "/samples/0/temperature_c"),
    (messages.DESIRED, "/attempts/0/argv", [], "/attempts/0/argv"),
    (messages.DESIRED, "/attempts/0/argv", "rm -rf /", "/attempts/0/argv"),
    (messages.DESIRED, "/attempts/0/argv/0", "", "/attempts/0/argv/0"),
    (messages.DESIRED, "/attempts/0/checkpoint_key", "../3", "/attempts/0/checkpoint_key"),
    (messages.DESIRED, "/attempts/0/env", {"A=B": "c"}, "/attempts/0/env"),
    (messages.DESIRED, "/attempts/0/env", {"A": 1}, "/attempts/0/env/A"),
    (messages.DESIRED, "/attempts/0/image", "--privileged", "/attempts/0/image"),
    (messages.DESIRED, "/attempts/0/processes", "many", "/attempts/0/processes"),
    (messages.DESIRED, "/attempts/0/workdir", {}, "/attempts/0/workdir"),
    (messages.DESIRED, "/attempts/0/workdir/archive/digest", "0" * 63, WORKDIR + "/archive/digest"),
    (messages.DESIRED, "/attempts/0/workdir/archive/size", 2**41, WORKDIR + "/archive/size"),
    (messages.DESIRED, "/attempts/0/workdir/git", COMMIT, WORKDIR),
    (messages.DESIRED, "/attempts/0/mounts/0/path", "/srv/../etc", "/attempts/0/mounts/0/path"),
    (messages.DESIRED, "/attempts/0/mounts/0/path", "srv", "/attempts/0/mounts/0/path"),
    (messages.DESIRED, "/attempts/0/mounts/0/target", "/", "/attempts/0/mounts/0/target"),
    (messages.DESIRED, "/attempts/0/mounts/0/target", "/a//b", "/attempts/0/mounts/0/target"),
    (messages.DESIRED, "/attempts/0/artifacts/0/name", "../x", "/attempts/0/artifacts/0/name"),
    (messages.DESIRED, "/attempts/0/artifacts/0/path", "/etc", "/attempts/0/artifacts/0/path"),
    (messages.DESIRED, "/attempts/0/secrets/0/file", "both", "/attempts/0/secrets/0"),
    (messages.DESIRED, "/attempts/0/secrets/0/variable", "A=B", "/attempts/0/secrets/0/variable"),
    (messages.DESIRED, "/attempts/0/time_limit_s", 0, "/attempts/0/time_limit_s"),
    (messages.DESIRED, "/attempts/0/gang/first_rank", 5, "/attempts/0/gang/first_rank"),
    (messages.DESIRED, "/attempts/0/gang/node_rank", 2, "/attempts/0/gang/node_rank"),
]


@pytest.mark.parametrize(("message", "place", "value", "pointer"), REFUSED)
def test_a_fault_is_refused_and_its_place_named(
    message: object,
    place: str,
    value: Any,
    pointer: str,
) -> None:
    with pytest.raises(WireError) as refusal:
        decode(type(message), changed(message, place, value))
    assert refusal.value.pointer == pointer


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"\xff",
        b"{",
        b'{"epoch":1,"epoch":2}',
        b"[" * 100_000,
        b'{"epoch":' + b"1" * 5000 + b"}",
    ],
)
def test_what_is_no_message_is_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        decode(Sync, body)


def test_a_missing_field_is_named() -> None:
    with pytest.raises(WireError, match="lacks boot_id, epoch, sequence"):
        decode(Sync, b"{}")


def test_an_attempt_or_a_gpu_stands_once() -> None:
    report = json.loads(encode(messages.REPORT))
    with pytest.raises(WireError, match="one attempt stands twice"):
        decode(Sync, changed(messages.SYNC, "/attempts", [report, report]))
    attempt = json.loads(encode(messages.DESIRED_ATTEMPT))
    with pytest.raises(WireError, match="one GPU is wanted by two attempts"):
        decode(
            Desired, changed(messages.DESIRED, "/attempts", [attempt, attempt | {"attempt_id": 8}])
        )


def test_more_samples_than_a_batch_holds_are_refused() -> None:
    (sample,) = json.loads(encode(messages.TELEMETRY))["samples"]
    flood = changed(messages.TELEMETRY, "/samples", [sample] * (MAX_SAMPLES + 1))
    with pytest.raises(WireError, match="expected a list of 0 to 2048"):
        decode(Telemetry, flood)


def test_an_answer_may_say_more_than_this_agent_knows_but_a_request_may_not() -> None:
    body = changed(messages.DESIRED, "/attempts/0/tomorrow", "new")
    assert decode_answer(Desired, body) == messages.DESIRED
    body = changed(messages.SYNC, "/attempts/0/tomorrow", "new")
    with pytest.raises(WireError, match="unknown field tomorrow"):
        decode(Sync, body)


def test_one_attempt_that_cannot_be_read_leaves_the_others_readable() -> None:
    document = json.loads(encode(messages.DESIRED))
    odd = {**document["attempts"][0], "attempt_id": 99, "fence": 990, "image": "registry/x+y"}
    document["attempts"].append(odd)
    desired, unreadable = decode_desired(json.dumps(document).encode())
    assert desired == messages.DESIRED
    assert [(each.ref.attempt_id, each.ref.fence) for each in unreadable] == [(99, 990)]
    assert "/image" in unreadable[0].why


@pytest.mark.parametrize(("pointer", "value"), [("/attempts/0/fence", "x"), ("/next_sync_s", -1)])
def test_what_cannot_even_be_refused_makes_the_answer_unreadable(pointer: str, value: Any) -> None:
    with pytest.raises(WireError):
        decode_desired(changed(messages.DESIRED, pointer, value))


def test_a_name_that_stands_twice_is_refused_in_whatever_message() -> None:
    for message in (messages.SYNC, messages.DESIRED):
        body = encode(message)
        first, rest = body[:1], body[1:]
        repeated = first + rest.split(b",", 1)[0] + b"," + rest
        with pytest.raises(WireError, match="a name occurs twice"):
            decode(type(message), repeated)


def test_the_same_said_in_another_order_or_with_spaces_is_the_same_message() -> None:
    document = json.loads(encode(messages.SYNC))
    turned = json.dumps(dict(reversed(document.items())), indent=1).encode()
    assert decode(Sync, turned) == messages.SYNC


def test_a_chunk_holds_its_bytes_to_the_last_and_not_one_more() -> None:
    full = Logs(2, (LogPiece(7, 70, Stream.STDOUT, 0, b"x" * MAX_CHUNK_BYTES),))
    assert decode(Logs, encode(full)) == full
    more = Logs(2, (LogPiece(7, 70, Stream.STDOUT, 0, b"x" * (MAX_CHUNK_BYTES + 1)),))
    with pytest.raises(WireError, match=f"at most {MAX_CHUNK_BYTES} bytes"):
        decode(Logs, encode(more))


def test_a_problem_document_of_the_service_is_read_for_its_code() -> None:
    problem = decode_answer(
        ReportedProblem,
        b'{"type": "about:blank", "status": 409, "title": "Stale", "code": "stale_fence",'
        b' "request_id": "r", "stale": [{"attempt_id": 7, "fence": 70}]}',
    )
    assert problem.code == "stale_fence"
    assert problem.stale == (messages.DESIRED_ATTEMPT.ref,)


def test_log_data_that_is_not_base64_or_too_long_is_refused() -> None:
    logs = Logs(2, (LogPiece(7, 70, Stream.STDOUT, 0, b"x"),))
    for data in ("?", "eA=", "A" * 100_000):
        with pytest.raises(WireError) as refusal:
            decode(Logs, changed(logs, "/chunks/0/data", data))
        assert refusal.value.pointer == "/chunks/0/data"


@pytest.mark.process
def test_the_service_may_import_the_messages_without_the_agents_dependencies() -> None:
    code = (
        "import sys; import agent.wire; "
        "print(sorted({'httpx', 'pynvml', 'psutil', 'agent.cli'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_register_needs_no_join_token_once_the_node_has_its_own() -> None:
    body = changed(messages.REGISTER, "/join_token", None)
    assert decode(Register, body).join_token is None
