"""The one place through which every request leaves: counted, and never to another machine."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter

from scheduler_service.embedded.ports import LOOPBACK


@dataclass
class Traffic:
    """What was sent, by role and operation, and what came back."""

    templates: list[tuple[str, re.Pattern[str]]]
    role: str = ""
    sent: Counter[tuple[str, str]] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(self.sent.values())

    def note(self, request: requests.PreparedRequest, answer: requests.Response) -> None:
        label = self._label(request)
        self.sent[self.role, label] += 1
        self.statuses[answer.status_code] += 1
        if answer.status_code >= 500:
            self.errors.append(f"{answer.status_code} to {self.role}: {label} {request.url}")

    def _label(self, request: requests.PreparedRequest) -> str:
        path = urlsplit(request.url or "").path
        for template, pattern in self.templates:
            if pattern.fullmatch(str(path)):
                return f"{request.method} {template}"
        return f"{request.method} elsewhere"


def templates(paths: list[str]) -> list[tuple[str, re.Pattern[str]]]:
    """Literal segments first, so that /jobs/bulk/ is not taken for a job."""
    ordered = sorted(paths, key=lambda path: path.count("{"))
    return [
        (path, re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)) + "?"))
        for path in ordered
    ]


@contextmanager
def counted(traffic: Traffic, after: Callable[[], None]) -> Iterator[None]:
    """`after` is called when a request has been answered and counted."""
    send = HTTPAdapter.send

    def counting(
        self: HTTPAdapter, request: requests.PreparedRequest, *args: Any, **kwargs: Any
    ) -> requests.Response:
        if urlsplit(request.url or "").hostname != LOOPBACK:
            raise RuntimeError(f"the fuzzer may not send to {request.url}")
        answer = send(self, request, *args, **kwargs)
        traffic.note(request, answer)
        after()
        return answer

    HTTPAdapter.send = counting  # type: ignore[method-assign]
    try:
        yield
    finally:
        HTTPAdapter.send = send  # type: ignore[method-assign]
