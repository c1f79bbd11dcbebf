"""From a call to its answer: retried where that is safe, refused in our own words where it is not.

A POST carries an Idempotency-Key, so that a repeat after a lost answer has no second effect.
"""

import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from fairwatt.call import Call, Flow, Open, Pause, Reply, Send
from fairwatt.errors import FairwattError, NotFairwatt, ServerTooOld, Unreachable, refusal

R = TypeVar("R")
TRANSIENT = frozenset({429, 502, 503, 504})
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0
# The oldest service that knows every call of this client.
NEEDS = "0.1.0"
UPGRADE = "Upgrade the service, or install the client that came with it."


@dataclass(frozen=True, slots=True)
class Retry:
    """What is told while the service does not answer."""

    reason: str
    waited_s: float
    patience_s: float


@dataclass(frozen=True, slots=True)
class Rules:
    """How long to try, and whom to tell."""

    url: str
    patience_s: float = 20.0
    timeout_s: float = 30.0
    on_retry: Callable[[Retry], object] = lambda retry: None
    clock: Callable[[], float] = time.monotonic


def ask(call: Call[R], rules: Rules) -> Flow[R]:
    """The answer to a call, read as its type; a refusal is raised."""
    reply = yield from exchange(call, rules)
    return read(call, reply, rules)


def exchange(
    call: Call[Any],
    rules: Rules,
    *,
    step: type[Send] | type[Open] = Send,
    timeout_s: float | None = None,
    take: Callable[[Reply], bool] = lambda reply: False,
) -> Flow[Reply]:
    """The first answer that is not a passing trouble, or that `take` wants all the same."""
    begun_s, tries = rules.clock(), 0
    while True:
        trouble: FairwattError
        try:
            reply: Reply = yield step(call, timeout_s or rules.timeout_s)
        except Unreachable as error:
            trouble, pause_s = error, backoff_s(tries)
            again = call.repeatable
        else:
            check_version(reply, rules)
            again = _passing(reply)
            if not again or take(reply):
                return reply
            trouble = _refusal(call, reply, rules)
            pause_s = _told_s(reply) or backoff_s(tries)
        waited_s = rules.clock() - begun_s
        if not again or waited_s + pause_s > rules.patience_s:
            raise trouble
        rules.on_retry(Retry(str(trouble), waited_s, rules.patience_s))
        tries += 1
        yield Pause(pause_s)


def check_version(reply: Reply, rules: Rules) -> None:
    """An older service would refuse or misread something sooner or later: say so at once."""
    told = reply.headers.get("fairwatt-version", "")
    if re.fullmatch(r"\d+\.\d+\.\d+", told) and _numbers(told) < _numbers(NEEDS):
        raise ServerTooOld(
            f"The service at {rules.url} is version {told}; this client needs {NEEDS} or newer.",
            UPGRADE,
        )


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def backoff_s(tries: int) -> float:
    """Twice as long each time, scattered, so that a thousand clients do not come back at once."""
    longest_s: float = min(FIRST_PAUSE_S * 2**tries, LONGEST_PAUSE_S)
    return longest_s * random.uniform(0.5, 1.0)  # noqa: S311


def read(call: Call[R], reply: Reply, rules: Rules) -> R:
    if not reply.ok:
        raise _refusal(call, reply, rules)
    if call.answer is bytes:
        return reply.body  # type: ignore[return-value]  # R is bytes here
    if call.answer is type(None):
        return None
    try:
        return msgspec.json.decode(reply.body, type=call.answer)
    except msgspec.ValidationError as error:
        raise ServerTooOld(
            f"The service at {rules.url} answers {call.method} {call.path} in a shape that this"
            f" client does not know: {error}.",
            UPGRADE,
        ) from error
    except msgspec.DecodeError as error:
        raise not_fairwatt(rules.url, "its answer is no JSON") from error


def _passing(reply: Reply) -> bool:
    return reply.status in TRANSIENT or (
        reply.status == 409 and b'"idempotency_in_flight"' in reply.body
    )


def _told_s(reply: Reply) -> float | None:
    told = reply.headers.get("retry-after", "")
    return float(told) if re.fullmatch(r"\d{1,4}", told) else None


def _refusal(call: Call[Any], reply: Reply, rules: Rules) -> FairwattError:
    refused = refusal(reply.status, reply.body)
    if refused is None:
        return not_fairwatt(rules.url, f"it answers {reply.status} to {call.method} {call.path}")
    # A collection is always there in a service that knows it; only what it holds may be gone.
    if reply.status == 404 and "/" not in call.path.rstrip("/"):
        return ServerTooOld(
            f"The service at {rules.url} does not know {call.method} {call.path}:"
            " it is older than this client.",
            UPGRADE,
        )
    return refused


def not_fairwatt(url: str, why: str) -> NotFairwatt:
    return NotFairwatt(
        f"No Fairwatt API at {url}: {why}.",
        "Check the address (FAIRWATT_URL, or `fairwatt login URL`); it ends before /api/v1.",
    )
