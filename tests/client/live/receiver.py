"""A receiver of webhooks, on this machine, that keeps what it hears."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Heard:
    url: str
    messages: list[tuple[dict[str, str], bytes]] = field(default_factory=list)


@contextmanager
def receiver() -> Iterator[Heard]:
    class Receives(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.messages.append((dict(self.headers), body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receives)
    heard = Heard(f"http://127.0.0.1:{server.server_port}/hooks")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield heard
    finally:
        server.shutdown()
        server.server_close()
