"""The service's part of the protocol, real HTTP with scripted misbehaviour, for one node."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from msgspec.structs import replace

from agent.wire import (
    LOGS_PATH,
    REGISTER_PATH,
    SYNC_PATH,
    TELEMETRY_PATH,
    AttemptRef,
    AttemptReport,
    Cancel,
    Code,
    Desired,
    DesiredAttempt,
    GpuStatus,
    LogChunk,
    LogOffset,
    Logs,
    LogsTaken,
    Problem,
    Register,
    Registered,
    Sample,
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
    def __init__(self, status: int, problem: Problem) -> None:
        super().__init__(problem.code)
        self.status, self.problem = status, problem


@dataclass
class Fate:
    """What happens to requests; counted down, so that a script is a list of numbers."""

    down: bool = False
    lose_answers: int = 0  # requests that are applied and then answered by silence
    repeat_answers: int = 0  # syncs answered once more with the answer before
    refuse_logs: bool = False


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
    chunks: list[LogChunk] = field(default_factory=list)
    logs: dict[tuple[int, Stream], bytearray] = field(default_factory=dict)
    final: set[tuple[int, Stream]] = field(default_factory=set)
    last_answer: bytes = b""
    headers: list[str] = field(default_factory=list)

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
    def samples(self) -> list[Sample]:
        with self.lock:
            return [sample for batch in self.batches for sample in batch.samples]

    def text(self, attempt_id: int, stream: Stream = Stream.STDOUT) -> str:
        with self.lock:
            return bytes(self.logs.get((attempt_id, stream), b"")).decode(errors="replace")

    def handle(self, path: str, body: bytes, authorization: str) -> bytes:
        with self.lock:
            self.headers.append(authorization)
            if path == REGISTER_PATH:
                return encode(self._register(decode(Register, body), authorization))
            if authorization != f"Bearer {NODE_TOKEN}":
                raise RefusalError(401, Problem("unauthenticated", "no such node"))
            if path == SYNC_PATH:
                return self._sync(decode(Sync, body))
            if path == TELEMETRY_PATH:
                return encode(self._telemetry(decode(Telemetry, body)))
            assert path == LOGS_PATH
            return encode(self._logs(decode(Logs, body)))

    def _register(self, message: Register, authorization: str) -> Registered:
        known = authorization == f"Bearer {NODE_TOKEN}"
        joins = message.join_token == JOIN_TOKEN and self.install_id in (None, message.install_id)
        if not known and not joins:
            raise RefusalError(401, Problem("unauthenticated", "join token is used or unknown"))
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
            raise RefusalError(409, Problem(Code.STALE_EPOCH, "another agent has registered"))

    def _sync(self, message: Sync) -> bytes:
        self._check_epoch(message.epoch)
        stale = tuple(report.ref for report in message.attempts if report.ref in self.stale)
        if stale:
            raise RefusalError(409, Problem(Code.STALE_FENCE, "not this node's", stale=stale))
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
            raise RefusalError(413, Problem("too_large", "enough"))
        return LogsTaken(tuple(self._log(chunk) for chunk in message.chunks))

    def _log(self, chunk: LogChunk) -> LogOffset:
        self.chunks.append(chunk)
        kept = self.logs.setdefault((chunk.attempt_id, chunk.stream), bytearray())
        if chunk.offset <= len(kept):
            kept[chunk.offset :] = chunk.data
            if chunk.final:
                self.final.add((chunk.attempt_id, chunk.stream))
        return LogOffset(chunk.attempt_id, chunk.stream, len(kept))


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
