"""A way to the service on which requests arrive twice, and old ones again after newer ones."""

import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

COPIED = ("Authorization", "Content-Type")
KEPT = 50


class Echo:
    """For as long as the block lasts; `repeated` counts what the service got once too often."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, trust_env=False, timeout=30)
        self._chance = random.Random(4)
        self._old: list[tuple[str, bytes, dict[str, str]]] = []
        self._lock = threading.Lock()
        self.repeated = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> "Echo":
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._http.close()

    def pass_on(self, path: str, body: bytes, headers: dict[str, str]) -> httpx.Response:
        """The agent gets the first answer; registering twice would be another agent."""
        answer = self._http.post(path, content=body, headers=headers)
        if not path.rstrip("/").endswith("register"):
            self._again(path, body, headers)
        return answer

    def _again(self, path: str, body: bytes, headers: dict[str, str]) -> None:
        with self._lock:
            self._old = [*self._old, (path, body, headers)][-KEPT:]
            repeats = [(path, body, headers), *self._chance.choices(self._old, k=2)]
            self.repeated += len(repeats)
        for way, text, names in repeats:
            self._http.post(way, content=text, headers=names)


def _handler(echo: Echo) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name: self.headers[name] for name in COPIED if name in self.headers}
            answer = echo.pass_on(self.path, body, headers)
            self.send_response(answer.status_code)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    return Handler
