"""Good clients: every request has a key, and is sent again under it until the answer is clear."""

import random
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from lab.chaos.history import History
from lab.chaos.launch import ROOT

JOB = ROOT / "lab" / "chaos" / "job.py"
TERMINAL = frozenset({"succeeded", "failed", "cancelled"})
TIMEOUT_S = 4.0
MOST_LIVE = 5
CANCELS = 0.08
# Answers after which nobody knows whether the request had its effect, or that ask to come again.
AGAIN = frozenset({408, 409, 425, 429})

Body = dict[str, Any]


def drawn(draw: random.Random, name: str, labels: dict[str, str]) -> Body:
    """Short jobs mostly; some that keep checkpoints, gangs, and some that are more urgent."""
    kind = draw.choices(["short", "keeps", "gang", "urgent"], [6, 3, 1, 1])[0]
    seconds = draw.uniform(0.0, 1.5) if kind in ("short", "urgent") else draw.uniform(1.5, 5.0)
    argv = [sys.executable, "-I", "-S", str(JOB), f"{seconds:.1f}"]
    return {
        "name": f"{name}-{kind}",
        "cluster": "demo",
        "argv": argv + (["--keeps"] if kind == "keeps" else []),
        "gpus": draw.choice([4, 5]) if kind == "gang" else draw.choice([1, 1, 2]),
        "priority": 90 if kind == "urgent" else draw.choice([20, 50]),
        "estimated_run_s": max(1, round(seconds)),
        "restart_cost_s": 0,
        "labels": labels,
    }


@dataclass
class ChaosCaller:
    """Requests over one wire; what was asked and answered stands in the history."""

    url: str
    token: str
    history: History
    who: str
    http: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        bearer = {"Authorization": f"Bearer {self.token}"}
        self.http = httpx.Client(
            base_url=f"{self.url}/api/v1/", headers=bearer, timeout=TIMEOUT_S, trust_env=False
        )

    def get(self, path: str) -> Body | None:
        """None where there is no answer now."""
        try:
            answer = self.http.get(path)
        except httpx.HTTPError:
            return None
        if answer.status_code == 404:
            self.history.note("not found", who=self.who, path=path)
        found: Body | None = answer.json() if answer.is_success else None
        return found

    def post(
        self, path: str, key: str, body: Body | None, go_on: Callable[[], bool]
    ) -> Body | None:
        """The clear answer, if it is a good one; `go_on` is asked before every try."""
        self.history.note("ask", who=self.who, path=path, key=key, body=body)
        tries = 0
        while go_on():
            tries += 1
            status, found = self._try(path, key, body)
            if found is not None:
                self.history.note(
                    "answer", who=self.who, path=path, key=key, status=status, tries=tries,
                    job=found.get("id"), code=found.get("code"),
                )  # fmt: skip
                return found if 200 <= status < 300 else None
            time.sleep(0.3)
        return None

    def _try(self, path: str, key: str, body: Body | None) -> tuple[int, Body | None]:
        try:
            answer = self.http.post(path, json=body, headers={"Idempotency-Key": key})
        except httpx.HTTPError:
            return 0, None
        unclear = answer.status_code >= 500 or answer.status_code in AGAIN
        # To cancel what has ended is a clear answer, if not the one hoped for.
        if unclear and not (answer.status_code == 409 and "job_ended" in answer.text):
            return answer.status_code, None
        return answer.status_code, answer.json()


class ChaosClient(threading.Thread):
    def __init__(
        self, caller: ChaosCaller, seed: str, campaign: str, over: threading.Event
    ) -> None:
        super().__init__(daemon=True)
        self._caller, self._draw = caller, random.Random(seed)
        self._campaign, self._over = campaign, over
        self._go_on = lambda: not over.is_set()
        self.closing = threading.Event()
        self.live: set[int] = set()
        self._count = 0

    def run(self) -> None:
        """Submit, cancel and look until closing; then look until all of it is over."""
        while not self._over.is_set() and not (self.closing.is_set() and not self.live):
            if not self.closing.is_set() and len(self.live) < MOST_LIVE:
                self._submit()
            if self.live and self._draw.random() < CANCELS:
                self._cancel(self._draw.choice(sorted(self.live)))
            self._look()
            time.sleep(0.2)

    def _key(self, verb: str) -> str:
        self._count += 1
        return f"{self._campaign}-{self._caller.who}-{verb}-{self._count}"

    def _submit(self) -> None:
        key = self._key("submit")
        labels = {"campaign": self._campaign, "key": key}
        body = drawn(self._draw, self._caller.who, labels)
        if made := self._caller.post("jobs/", key, body, self._go_on):
            self.live.add(int(made["id"]))

    def _cancel(self, job: int) -> None:
        self._caller.post(f"jobs/{job}/cancel/", self._key("cancel"), None, self._go_on)

    def _look(self) -> None:
        for job in sorted(self.live):
            if (found := self._caller.get(f"jobs/{job}/")) and found["state"] in TERMINAL:
                self._caller.history.note(
                    "ended", who=self._caller.who, job=job, state=found["state"],
                    reason=found["reason"],
                )  # fmt: skip
                self.live.discard(job)
