"""What a client may do, described without doing it.

A `Call` is one request and the type of its answer. A `Flow` is a generator over steps, for what
takes several: whoever drives it performs each step and sends back what came of it. So that the
logic is written once, and serves `Client` and `AsyncClient` alike.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from uuid import uuid4

R = TypeVar("R")
T = TypeVar("T")

Query = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Call(Generic[R]):
    """One request below `/api/v1/`, and what its answer is read as; bytes are left as they are."""

    method: str
    path: str
    answer: type[R]
    query: Query = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def repeatable(self) -> bool:
        """Whether sending it twice has the effect of once."""
        return self.method == "GET" or "Idempotency-Key" in self.headers


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request and read the whole answer: a Reply, or Unreachable is thrown in."""

    call: Call[Any]
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Open:
    """Send a request and keep the answer open for `NextLine`: a Reply."""

    call: Call[Any]
    timeout_s: float


@dataclass(frozen=True, slots=True)
class NextLine:
    """The next line of what is open; None at its end, also when the connection broke."""


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """Hand a value to whoever iterates."""

    value: T


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


Step = Send | Open | NextLine | Pause
Flow = Generator[Step, Any, R]
Stream = Generator[Step | Item[T], Any, None]


def get(path: str, answer: type[R], **query: object) -> Call[R]:
    return Call("GET", path, answer, query=given(query))


def post(
    path: str, answer: type[R], body: Any = None, *, key: str | None = None, **query: object
) -> Call[R]:
    """With a key of its own, so that a repeat after a lost answer has no second effect."""
    headers = {"Idempotency-Key": key or str(uuid4())}
    return Call("POST", path, answer, query=given(query), body=body, headers=headers)


def patch(path: str, answer: type[R], body: Any, *, version: str | None) -> Call[R]:
    """Only if `version` (an ETag) is still the newest; None overwrites whatever there is."""
    return Call("PATCH", path, answer, body=body, headers={"If-Match": version or "*"})


def delete(path: str) -> Call[None]:
    return Call("DELETE", path, type(None), headers={"If-Match": "*"})


def given(values: Query) -> Query:
    """Without what was left out; `from_` and the like lose the mark that Python asks for."""
    return {name.rstrip("_"): value for name, value in values.items() if value is not None}
