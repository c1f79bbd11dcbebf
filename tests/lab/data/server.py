"""A real HTTP server on the loopback that can misbehave in the ways that servers do."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[["Handler", bytes], None]


@dataclass
class Files:
    """What is served, how, and the ranges that were asked for by path."""

    content: dict[str, bytes] = field(default_factory=dict)
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    """Set at the end, so that an answer that hangs comes to its end."""
    url: str = ""

    def misbehave(self, path: str, *answers: Answer) -> None:
        """One answer per request; after those the server behaves."""
        self.answers[path] = list(answers)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    files: Files

    def do_GET(self) -> None:
        files, wanted = self.files, self.headers.get("Range")
        files.asked.append((self.path, wanted))
        if self.path not in files.content:
            self.send_error(404)
            return
        waiting = files.answers.get(self.path)
        answer = waiting.pop(0) if waiting else whole_or_range
        answer(self, files.content[self.path])

    def begin(self, status: int, length: int | None, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if length is None:
            self.close_connection = True
            self.send_header("Connection", "close")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's name
        pass


def whole_or_range(handler: Handler, content: bytes) -> None:
    wanted = handler.headers.get("Range")
    if wanted is None:
        whole(handler, content)
        return
    first = int(wanted.removeprefix("bytes=").removesuffix("-"))
    if first >= len(content):
        handler.send_error(416)
        return
    told = f"bytes {first}-{len(content) - 1}/{len(content)}"
    handler.begin(206, len(content) - first, Content_Range=told)
    handler.wfile.write(content[first:])


def whole(handler: Handler, content: bytes) -> None:
    """As a server does that knows no ranges."""
    handler.begin(200, len(content))
    handler.wfile.write(content)


def truncated(handler: Handler, content: bytes) -> None:
    """Half of what the length promised."""
    handler.begin(200, len(content))
    handler.wfile.write(content[: len(content) // 2])
    handler.close_connection = True


def truncated_without_length(handler: Handler, content: bytes) -> None:
    handler.begin(200, None)
    handler.wfile.write(content[: len(content) // 2])


def dripping(handler: Handler, content: bytes) -> None:
    """A byte at a time, and never the last ones."""
    handler.begin(200, len(content))
    for byte in content[:-10]:
        handler.wfile.write(bytes([byte]))
        handler.wfile.flush()
    handler.files.released.wait()


def silent(handler: Handler, content: bytes) -> None:
    handler.begin(200, len(content))
    handler.files.released.wait()


def endless(handler: Handler, content: bytes) -> None:
    """More than was asked for, until the other side hangs up."""
    handler.begin(200, None)
    try:
        while not handler.files.released.is_set():
            handler.wfile.write(content)
    except ConnectionError:
        pass


def refusing(status: int) -> Answer:
    return lambda handler, _: handler.send_error(status)


@contextmanager
def serving() -> Iterator[Files]:
    files = Files()
    kind = type("BoundHandler", (Handler,), {"files": files})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        files.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield files
        finally:
            files.released.set()
            server.shutdown()
            thread.join()
