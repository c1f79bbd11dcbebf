"""The service's part of the protocol, real HTTP with scripted misbehaviour, for one node."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from msgspec import convert
from msgspec.structs import replace

from agent.wire import (
    BELL_PATH,
    LOGS_PATH,
    REGISTER_PATH,
    SYNC_PATH,
    TELEMETRY_PATH,
    ArtifactPart,
    ArtifactTaken,
    AttemptRef,
    AttemptReport,
    Cancel,
    Code,
    Desired,
    DesiredAttempt,
    GpuStatus,
    LogOffset,
    LogPiece,
    Logs,
    LogsTaken,
    Register,
    Registered,
    ReportedProblem,
    SampleReport,
    State,
    Stream,
    Sync,
    Telemetry,
    TelemetryTaken,
    decode,
    encode,
)

JOIN_TOKEN = "fw_j_only-once-0123456789"
NODE_TOKEN = "fw_n_this-node-0123456789"


class RefusalError(Exception):
    def __init__(self, status: int, problem: ReportedProblem) -> None:
        super().__init__(problem.code)
        self.status, self.problem = status, problem


@dataclass
class Fate:
    """What happens to requests; counted down, so that a script is a list of numbers."""

    down: bool = False
    lose_answers: int = 0  # requests that are applied and then answered by silence
    repeat_answers: int = 0  # syncs answered once more with the answer before
    refuse_logs: bool = False
    break_downloads: int = 0  # archives of which only half comes
    refuse_artifacts: bool = False  # with 503: later perhaps
    hold_downloads: threading.Event | None = None  # they hang until it is set


@dataclass
class ScriptedService:
    node_lease_s: float = 5.0
    run_lease_s: float = 60.0
    next_sync_s: float = 0.1
    sample_interval_s: float = 0.1
    upload_interval_s: float = 0.5
    ack: bool = True
    fate: Fate = field(default_factory=Fate)
    lock: threading.RLock = field(default_factory=threading.RLock)
    epoch: int = 0
    install_id: str | None = None
    wanted: dict[int, DesiredAttempt] = field(default_factory=dict)
    cancels: dict[int, Cancel] = field(default_factory=dict)
    stale: set[AttemptRef] = field(default_factory=set)
    discards: tuple[str, ...] = ()
    registers: list[Register] = field(default_factory=list)
    syncs: list[Sync] = field(default_factory=list)
    reports: list[AttemptReport] = field(default_factory=list)
    latest: dict[int, AttemptReport] = field(default_factory=dict)
    ended: dict[int, AttemptReport] = field(default_factory=dict)
    batches: list[Telemetry] = field(default_factory=list)
    chunks: list[LogPiece] = field(default_factory=list)
    rank_logs: dict[tuple[int, Stream, int | None], bytearray] = field(default_factory=dict)
    final: set[tuple[int, Stream]] = field(default_factory=set)
    last_answer: bytes = b""
    headers: list[str] = field(default_factory=list)
    archives: dict[int, bytes] = field(default_factory=dict)  # by attempt
    ranges: list[str] = field(default_factory=list)  # asked for, "" for the whole
    artifacts: dict[tuple[int, str], bytearray] = field(default_factory=dict)
    closed: dict[tuple[int, str], ArtifactPart] = field(default_factory=dict)
    # What is written to the agent's bell; without it there is none.
    bell: "SimpleQueue[bytes] | None" = None

    def want(self, attempt: DesiredAttempt) -> None:
        with self.lock:
            self.wanted[attempt.attempt_id] = attempt

    def cancel(self, attempt_id: int, reason: str, grace_s: float | None = None) -> None:
        with self.lock:
            fence = self.wanted.pop(attempt_id).fence
            self.cancels[attempt_id] = Cancel(attempt_id, fence, reason, grace_s)

    def give_up(self, attempt_id: int) -> None:
        """As after a lapsed lease: the fence this node has is stale."""
        with self.lock:
            self.stale.add(self.wanted.pop(attempt_id).ref)

    def adjust(self, attempt_id: int, **changes: Any) -> None:
        self.adjust_all({attempt_id: changes})

    def adjust_all(self, changes: dict[int, dict[str, Any]]) -> None:
        """All in one answer."""
        with self.lock:
            for attempt_id, each in changes.items():
                self.wanted[attempt_id] = replace(self.wanted[attempt_id], **each)

    @property
    def gpus(self) -> dict[str, GpuStatus]:
        with self.lock:
            return {gpu.uuid: gpu for gpu in self.syncs[-1].gpus} if self.syncs else {}

    @property
    def samples(self) -> list[SampleReport]:
        with self.lock:
            return [sample for batch in self.batches for sample in batch.samples]

    def text(self, attempt_id: int, stream: Stream = Stream.STDOUT) -> str:
        """Of all ranks, one after another."""
        with self.lock:
            keys = [key for key in self.rank_logs if key[:2] == (attempt_id, stream)]
            found = (bytes(self.rank_logs[key]) for key in sorted(keys, key=str))
            return b"".join(found).decode(errors="replace")

    def handle(self, path: str, body: bytes, authorization: str) -> bytes:
        with self.lock:
            self.headers.append(authorization)
            if path == REGISTER_PATH:
                return encode(self._register(decode(Register, body), authorization))
            if authorization != f"Bearer {NODE_TOKEN}":
                raise RefusalError(401, ReportedProblem("unauthenticated", "no such node"))
            if path == SYNC_PATH:
                return self._sync(decode(Sync, body))
            if path == TELEMETRY_PATH:
                return encode(self._telemetry(decode(Telemetry, body)))
            assert path == LOGS_PATH
            return encode(self._logs(decode(Logs, body)))

    def workdir(self, attempt_id: int, asked: str) -> tuple[bytes, int]:
        """From the byte that a range names, and how many bytes are sent before the line breaks."""
        with self.lock:
            self.ranges.append(asked)
            if attempt_id not in self.archives:
                raise RefusalError(404, ReportedProblem("bytes_gone", detail="The bytes are gone."))
            start = int(asked.removeprefix("bytes=").removesuffix("-") or 0)
            data = self.archives[attempt_id][start:]
            if self.fate.break_downloads > 0:
                self.fate.break_downloads -= 1
                return data, len(data) // 2
            return data, len(data)

    def artifact(self, attempt_id: int, name: str, part: ArtifactPart, data: bytes) -> bytes:
        with self.lock:
            self._check_epoch(part.epoch)
            if self.fate.refuse_artifacts:
                raise RefusalError(503, ReportedProblem("busy"))
            key = (attempt_id, name)
            kept = self.artifacts.setdefault(key, bytearray())
            if part.offset == len(kept):
                kept += data
            if part.fault or len(kept) == part.size:
                self.closed[key] = part
            return encode(ArtifactTaken(len(kept), closed=key in self.closed))

    def _register(self, message: Register, authorization: str) -> Registered:
        known = authorization == f"Bearer {NODE_TOKEN}"
        joins = message.join_token == JOIN_TOKEN and self.install_id in (None, message.install_id)
        if not known and not joins:
            raise RefusalError(
                401, ReportedProblem("unauthenticated", "join token is used or unknown")
            )
        self.install_id = message.install_id
        self.epoch += 1
        self.registers.append(message)
        return Registered(
            node_id=1,
            epoch=self.epoch,
            next_sync_s=self.next_sync_s,
            sample_interval_s=self.sample_interval_s,
            upload_interval_s=self.upload_interval_s,
            node_lease_s=self.node_lease_s,
            run_lease_s=self.run_lease_s,
            node_token=None if known else NODE_TOKEN,
        )

    def _check_epoch(self, epoch: int) -> None:
        if epoch != self.epoch:
            raise RefusalError(
                409, ReportedProblem(Code.STALE_EPOCH, "another agent has registered")
            )

    def _sync(self, message: Sync) -> bytes:
        self._check_epoch(message.epoch)
        stale = tuple(report.ref for report in message.attempts if report.ref in self.stale)
        if stale:
            raise RefusalError(
                409, ReportedProblem(Code.STALE_FENCE, "not this node's", stale=stale)
            )
        if self.fate.repeat_answers > 0 and self.last_answer:
            self.fate.repeat_answers -= 1
            return self.last_answer
        self.syncs.append(message)
        self.reports += message.attempts
        for report in message.attempts:
            self.latest[report.attempt_id] = report
            if report.state is State.ENDED:
                self.ended[report.attempt_id] = report
                self.wanted.pop(report.attempt_id, None)
                self.cancels.pop(report.attempt_id, None)
        acks = [r.ref for r in message.attempts if r.state is State.ENDED] if self.ack else []
        self.last_answer = encode(self._desired(tuple(acks)))
        return self.last_answer

    def _desired(self, acks: tuple[AttemptRef, ...]) -> Desired:
        return Desired(
            next_sync_s=self.next_sync_s,
            node_lease_s=self.node_lease_s,
            run_lease_s=self.run_lease_s,
            attempts=tuple(self.wanted.values()),
            cancels=tuple(self.cancels.values()),
            acks=acks,
            discard_checkpoints=self.discards,
            sample_interval_s=self.sample_interval_s,
            upload_interval_s=self.upload_interval_s,
        )

    def _telemetry(self, message: Telemetry) -> TelemetryTaken:
        self._check_epoch(message.epoch)
        self.batches.append(message)
        return TelemetryTaken()

    def _logs(self, message: Logs) -> LogsTaken:
        self._check_epoch(message.epoch)
        if self.fate.refuse_logs:
            raise RefusalError(413, ReportedProblem("too_large", "enough"))
        return LogsTaken(tuple(self._log(chunk) for chunk in message.chunks))

    def _log(self, chunk: LogPiece) -> LogOffset:
        self.chunks.append(chunk)
        key = (chunk.attempt_id, chunk.stream, chunk.rank)
        kept = self.rank_logs.setdefault(key, bytearray())
        if chunk.offset <= len(kept):
            kept[chunk.offset :] = chunk.data
            if chunk.final:
                self.final.add((chunk.attempt_id, chunk.stream))
        return LogOffset(chunk.attempt_id, chunk.stream, len(kept), rank=chunk.rank)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    service: ScriptedService

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An agent that hangs up or is killed is what these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        service = self.server.service
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if service.fate.down:
            self.close_connection = True
            return
        try:
            answer = service.handle(self.path, body, self.headers.get("Authorization", ""))
        except RefusalError as refusal:
            self._answer(refusal.status, encode(refusal.problem))
            return
        if service.fate.lose_answers > 0:
            service.fate.lose_answers -= 1
            self.close_connection = True
            return
        self._answer(200, answer)

    def do_PUT(self) -> None:
        service = self.server.service
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if service.fate.down:
            self.close_connection = True
            return
        url = urlsplit(self.path)
        *_, attempt_id, _, name = url.path.split("/")
        part = convert(dict(parse_qsl(url.query)), ArtifactPart, strict=False)
        try:
            self._answer(200, service.artifact(int(attempt_id), name, part, body))
        except RefusalError as refusal:
            self._answer(refusal.status, encode(refusal.problem))

    def _send_workdir(self) -> None:
        service = self.server.service
        try:
            attempt_id = int(urlsplit(self.path).path.split("/")[-2])
            data, sent = service.workdir(attempt_id, self.headers.get("Range", ""))
        except RefusalError as refusal:
            self._answer(refusal.status, encode(refusal.problem))
            return
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[:sent])
        if service.fate.hold_downloads is not None:
            service.fate.hold_downloads.wait()
        self.close_connection = sent < len(data)

    def do_GET(self) -> None:
        if "/workdir" in self.path:
            self._send_workdir()
            return
        bell = self.server.service.bell
        if bell is None or self.path != BELL_PATH:
            self._answer(404, encode(ReportedProblem("not_found")))
            return
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        line = b"\n"
        while line:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))
            line = bell.get()
        self.wfile.write(b"0\r\n\r\n")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


class Listener:
    """A service on a port of its own for as long as the block lasts."""

    def __init__(self, service: ScriptedService) -> None:
        self.service = service
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.service = service
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "Listener":
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def until(holds: Callable[[], Any], what: str, within_s: float = 15.0) -> Any:
    """Wait for a condition; a wait that runs out says what was waited for."""
    deadline_s = time.monotonic() + within_s
    while time.monotonic() < deadline_s:
        if value := holds():
            return value
        time.sleep(0.02)
    raise AssertionError(f"in {within_s} s there was not: {what}")
