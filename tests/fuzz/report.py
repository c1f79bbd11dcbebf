"""What was sent and what was found, for people; the exit code is for programs."""

import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from schemathesis.engine import Status

from tests.fuzz.traffic import Traffic

PROGRESS_EVERY_S = 2.0
SHOWN = 20
STUCK = 20


@dataclass
class Report:
    started_s: float
    wanted: int
    traffic: Traffic = field(default_factory=lambda: Traffic([]))
    findings: dict[tuple[str, str, str], str] = field(default_factory=dict)
    times: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    _shown_s: float = 0.0

    @property
    def exit_code(self) -> int:
        short = self.traffic.total < self.wanted
        return 1 if self.findings or self.traffic.errors or short else 0

    @property
    def stuck(self) -> bool:
        """The fuzzer keeps failing; going on would only repeat it."""
        return sum(times for key, times in self.times.items() if key[0] == "error") >= STUCK

    def take(self, role: str, recorder: Any) -> None:
        """The failed checks of a scenario; the same failure of an operation is one finding."""
        for case_id, checks in recorder.checks.items():
            for check in checks:
                if check.status == Status.FAILURE:
                    failure = check.failure_info.failure
                    case = recorder.cases[case_id].value
                    key = (check.name, case.operation.label, failure.title)
                    self.times[key] += 1
                    self.findings.setdefault(key, self._told(role, recorder, case_id, failure))

    def _told(self, role: str, recorder: Any, case_id: str, failure: Any) -> str:
        interaction = recorder.interactions.get(case_id)
        response = interaction.response if interaction else None
        answer = f"{response.status_code} {response.text[:600]}" if response else "no answer"
        curl = recorder.cases[case_id].value.as_curl_command()
        return f"as {role}\n{failure.message[:800]}\n{answer}\n{curl[:1500]}"

    def broken(self, role: str, event: Any) -> None:
        """Not a failed check: the fuzzer itself, or the connection, went wrong."""
        cause = getattr(event, "value", None) or getattr(event, "exception", None) or event
        key = ("error", str(getattr(event, "label", "")), type(cause).__name__)
        self.times[key] += 1
        self.findings.setdefault(key, f"as {role}\n{str(cause)[:1500]}")

    def progress(self) -> None:
        now_s = time.monotonic()
        if now_s - self._shown_s >= PROGRESS_EVERY_S:
            self._shown_s = now_s
            line = f"{self.traffic.total}/{self.wanted} as {self.traffic.role}, "
            sys.stderr.write(f"\r{line}{len(self.findings)} findings    ")
            sys.stderr.flush()

    def summary(self, *, now_s: float) -> str:
        sent = self.traffic.sent
        roles, operations = Counter[str](), Counter[str]()
        for (role, operation), times in sent.items():
            roles[role] += times
            operations[operation] += times
        lines = [f"\n{self.traffic.total} requests in {now_s - self.started_s:.0f} s"]
        lines += ["", "by operation"]
        lines += [f"  {times:6d}  {name}" for name, times in sorted(operations.items())]
        lines += ["", "by role"] + [f"  {times:6d}  {name}" for name, times in roles.items()]
        lines += ["", "by status"]
        lines += [f"  {times:6d}  {name}" for name, times in sorted(self.traffic.statuses.items())]
        lines += ["", f"unexpected 5xx: {len(self.traffic.errors)}"]
        lines += [f"  {error}" for error in self.traffic.errors[:SHOWN]]
        lines += [f"schema violations and other failed checks: {len(self.findings)}"]
        for key, told in list(self.findings.items())[:SHOWN]:
            lines += [f"\n[{self.times[key]} times] {' | '.join(key)}", told]
        return "\n".join(lines)
