"""The running service as the demo sees it: its address, and a client for each of its people."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from fairwatt import Client

from scheduler_service.embedded.errors import EmbeddedError
from scheduler_service.settings import BASE_DIR, VAR_DIR

TOKENS = {
    "operator": "operator_token",
    "acme": "tenant_token",
    "globex": "other_tenant_token",
}
START_S = 180.0


class DemoError(EmbeddedError):
    """The demo did not go as it should, and why."""


@dataclass(frozen=True)
class DemoService:
    var: Path

    @property
    def facts(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self.var / "demo.json").read_text())
        except FileNotFoundError:
            return {}
        return found

    def answers(self) -> bool:
        url = self.facts.get("url")
        try:
            return url is not None and httpx2.get(f"{url}/readyz", timeout=5).is_success
        except httpx2.HTTPError:
            return False

    def client(self, who: str) -> Client:
        facts = self.facts
        return Client(facts["url"], facts[TOKENS[who]], cluster=facts["cluster"])


@contextmanager
def callers(service: DemoService) -> Iterator[dict[str, Client]]:
    """A client for each of the demo's people."""
    with ExitStack() as stack:
        yield {who: stack.enter_context(service.client(who)) for who in TOKENS}


@contextmanager
def running() -> Iterator[DemoService]:
    """The service that `make up` started; if there is none, one for as long as the demo takes."""
    service = DemoService(VAR_DIR.resolve())
    if service.answers():
        yield service
        return
    log = service.var / "demo.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    say(f"Starting the service for the demo; its log is {log}")
    with log.open("wb") as output:
        up = subprocess.Popen(
            [sys.executable, "-m", "scheduler_service.embedded", "up"],
            cwd=BASE_DIR, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        wait_until(
            lambda: service.answers() or up.poll() is not None, START_S, "the service is ready"
        )
        if up.poll() is not None:
            raise DemoError(f"the service did not start:\n{log.read_text()[-2000:]}")
        yield service
    finally:
        up.terminate()
        up.wait()


def wait_until(done: Any, longest_s: float, what: str) -> None:
    deadline_s = time.monotonic() + longest_s
    while not done():
        if time.monotonic() > deadline_s:
            raise DemoError(f"waited {longest_s:.0f} s in vain: {what}")
        time.sleep(0.5)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
