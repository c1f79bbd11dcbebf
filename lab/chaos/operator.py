"""Who looks after the stack: asks it directly, not through the wires that are hurt."""

import sys
import time
from datetime import datetime
from typing import Any

from lab.chaos.client import JOB, ChaosCaller
from lab.chaos.history import now_s
from lab.chaos.stack import NODES, Stack

MADE_ROOM = frozenset({"preempted", "moved", "resized"})
POLICY = {"policy": "priority", "policy_parameters": {"preempt": True, "min_run_s": 1}}


class ChaosOperator:
    def __init__(self, stack: Stack, caller: ChaosCaller, campaign: str, patience_s: float) -> None:
        self._stack, self._caller, self._campaign = stack, caller, campaign
        self.patience_s, self._count = patience_s, 0

    def choose_policy(self) -> None:
        """One that preempts: who is stopped must go on from its checkpoint."""
        cluster = self._caller.http.get("clusters/?limit=10").raise_for_status().json()["items"][0]
        path = f"clusters/{cluster['id']}/"
        self._caller.http.patch(path, json=POLICY, headers={"If-Match": "*"}).raise_for_status()

    def recovered_s(self) -> float | None:
        """From now until a new job has begun and every node speaks; None: that did not come."""
        begun_s, spoken_at = now_s(), time.time()
        deadline_s = begun_s + self.patience_s
        job = self._submit(deadline_s)
        while job is not None and now_s() < deadline_s:
            self._stack.revive()
            if self._has_begun(job) and self.nodes_speak(since=spoken_at):
                return now_s() - begun_s
            time.sleep(0.1)
        return None

    def nodes_speak(self, since: float) -> bool:
        """Quarantined ones are let in again, as somebody would who knows what went on."""
        page = self._caller.get("nodes/?limit=100")
        nodes = page["items"] if page else []
        for node in nodes:
            if node["state"] == "quarantined":
                self._caller.post(f"nodes/{node['id']}/resume/", self._key("resume"), None, _once())
        return len(nodes) == len(NODES) and all(
            node["state"] == "ready" and _at_s(node["last_sync_at"]) > since for node in nodes
        )

    def all_jobs(self) -> list[dict[str, Any]] | None:
        """Of the campaign; None where there is no answer now."""
        return self._pages(f"jobs/?limit=1000&label=campaign={self._campaign}")

    def asked_to_stop(self) -> frozenset[int] | None:
        """Attempts that made room: how they ended says nothing about their jobs."""
        attempts = self._pages("attempts/?limit=1000")
        if attempts is None:
            return None
        return frozenset(each["id"] for each in attempts if each["reason"] in MADE_ROOM)

    def _pages(self, first: str) -> list[dict[str, Any]] | None:
        items: list[dict[str, Any]] = []
        path = first
        while True:
            page = self._caller.get(path)
            if page is None:
                return None
            items += page["items"]
            if page["next"] is None:
                return items
            path = f"{first}&cursor={page['next']}"

    def energy(self) -> list[dict[str, Any]] | None:
        """Of every node."""
        page = self._caller.get("nodes/?limit=100")
        if page is None:
            return None
        found = [self._caller.get(f"nodes/{node['id']}/energy/") for node in page["items"]]
        answers = [each for each in found if each is not None]
        return answers if len(answers) == len(found) else None

    def energy_settled(self) -> bool:
        """Whether all that attempts drew stands in the ledger."""
        nodes = self.energy()
        return nodes is not None and all(
            gpu["open_mj"] == 0 for node in nodes for gpu in node["gpus"]
        )

    def _submit(self, deadline_s: float) -> int | None:
        def go_on() -> bool:
            self._stack.revive()
            return now_s() < deadline_s

        key = self._key("probe")
        body = {
            "name": "probe",
            "tenant": "acme",
            "cluster": "demo",
            "argv": [sys.executable, "-I", "-S", str(JOB), "0"],
            "priority": 100,
            "estimated_run_s": 1,
            "labels": {"campaign": self._campaign, "key": key},
        }
        made = self._caller.post("jobs/", key, body, go_on)
        return None if made is None else int(made["id"])

    def _has_begun(self, job: int) -> bool:
        """By its own journal."""
        mine = self._stack.var / "agents" / "checkpoints" / f"job-{job}"
        return any(mine.glob("journal-*.jsonl"))

    def _key(self, verb: str) -> str:
        self._count += 1
        return f"{self._campaign}-operator-{verb}-{self._count}"


def _once() -> Any:
    left = [True]
    return lambda: left.pop() if left else False


def _at_s(instant: str | None) -> float:
    return datetime.fromisoformat(instant).timestamp() if instant else 0.0
