"""What a policy answers: an entry for every queued job, and changes to running ones.

Entries name jobs and nodes by database id. A queued job has exactly one Start or Wait; a running
job has at most one Preempt, Move, Resize, SetClock or Retune, and keeps what it has without one.
"""

# ruff: noqa: RUF009  # column() is dataclasses.field() in other words

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import msgspec
import numpy as np

from policies.contract import encoding
from policies.contract.columns import F64, I32, I64, U8, ColumnTable, column
from policies.explain.reasons import Evidence, WaitReason


# Entries come by the thousand and hold no cycles: the collector need not walk them.
class Piece(msgspec.Struct, frozen=True, gc=False):
    """A job's share of one node; bit i of `gpus` is the node's GPU number i."""

    node: int
    gpus: int
    cpus: int
    mem_mib: int


class PlanEntry(msgspec.Struct, frozen=True, gc=False):
    job: int


class Placing(PlanEntry, frozen=True):
    pieces: tuple[Piece, ...]
    clock_mhz: int = 0


class Start(Placing, frozen=True):
    pass


class Move(Placing, frozen=True):
    pass


class Resize(Placing, frozen=True):
    pass


class Preempt(PlanEntry, frozen=True):
    """Stop `job`; `for_job` starts in a later round, once the GPUs are free.

    A job that is stopped for the power budget alone names itself.
    """

    for_job: int
    lost_gpu_s: float


class SetClock(PlanEntry, frozen=True):
    clock_mhz: int


class Retune(PlanEntry, frozen=True):
    """Other CPUs and memory for a running job, at once and in place: its GPUs stay as they are."""

    pieces: tuple[Piece, ...]


class PowerNode(msgspec.Struct, frozen=True):
    node: int
    on: bool


class Expected(msgspec.Struct, frozen=True, gc=False):
    """What a policy expects of a job it places: how long it still runs, and what that costs."""

    job: int
    run_s: float
    marginal_energy_cost: float
    """Above what its nodes draw idle; `policies.pricing.cost` defines both."""
    full_energy_cost: float
    """As it will be billed."""
    tardiness_cost: float
    tardiness_weight: float
    """Money per second of tardiness, as the policy reckoned it."""


class Wait(msgspec.Struct, frozen=True):
    job: int
    reason: WaitReason
    evidence: Evidence
    ahead: int
    until_s: float | None


@dataclass(frozen=True, slots=True, eq=False)
class WaitTable(ColumnTable):
    """Waits by the thousand; `evidence` is an index into the plan's shared records.

    `ahead` counts the queued jobs that rank before this one; `until_s` is when the policy expects
    to start it, nan when it does not say.
    """

    job: I64 = column(np.int64)
    reason: U8 = column(np.uint8)
    evidence: I32 = column(np.int32)
    ahead: I32 = column(np.int32, fill=0)
    until_s: F64 = column(np.float64, fill=np.nan)

    @classmethod
    @cache
    def none(cls) -> "WaitTable":
        return cls.of(job=[], reason=[], evidence=[])


Explained = tuple[WaitTable, tuple[Evidence, ...]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Plan:
    """With `explain`, waits and evidence are worked out when one of them is first read.

    A simulated round never reads them, and finding reasons takes longer than finding places.
    """

    starts: tuple[Start, ...] = ()
    preempts: tuple[Preempt, ...] = ()
    moves: tuple[Move, ...] = ()
    resizes: tuple[Resize, ...] = ()
    clocks: tuple[SetClock, ...] = ()
    power: tuple[PowerNode, ...] = ()
    retunes: tuple[Retune, ...] = ()
    waits: WaitTable = field(default_factory=WaitTable.none)
    evidence: tuple[Evidence, ...] = ()
    objective: float = 0.0
    shown: dict[str, float] = field(default_factory=dict)
    expected: tuple[Expected, ...] = ()
    """Of placed jobs, from policies that reckon in money."""
    explain: Callable[[], Explained] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.explain is not None:
            object.__delattr__(self, "waits")
            object.__delattr__(self, "evidence")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Only a slot without a value comes here."""
            if name not in ("waits", "evidence") or self.explain is None:
                raise AttributeError(name)
            waits, evidence = self.explain()
            object.__setattr__(self, "waits", waits)
            object.__setattr__(self, "evidence", evidence)
            object.__setattr__(self, "explain", None)
            return waits if name == "waits" else evidence

    def settled(self) -> Self:
        """The same plan, with nothing left to be worked out."""
        if self.explain is not None:
            _ = self.waits
        return self

    def iter_waits(self) -> Iterator[Wait]:
        columns = (values.tolist() for _, values in self.waits.columns())
        for job, reason, index, ahead, until_s in zip(*columns, strict=True):
            known_until_s = until_s if until_s == until_s else None  # noqa: PLR0124  # nan
            yield Wait(job, WaitReason(reason), self.evidence[index], ahead, known_until_s)

    def waits_at(self, rows: I64) -> list[Wait]:
        """The waits in some rows of the table."""
        columns = {name: values[rows] for name, values in self.waits.columns()}
        return list(replace(self, waits=WaitTable.of(**columns)).iter_waits())

    def wait_of(self, job: int) -> Wait | None:
        found = self.waits_at(np.flatnonzero(self.waits.job == job))
        return found[0] if found else None

    def canonical(self) -> bytes:
        """Bytes equal exactly when the plans are equal.

        Retunes stand there only if there are any: plans stored before they existed keep their
        digests.
        """
        acts = [getattr(self, name) for name in _ACTS]
        if not self.retunes:
            acts.pop()
        rest = msgspec.json.encode(
            [acts, self.evidence, repr(self.objective), sorted(self.shown.items())]
        )
        columns = {"rest": np.frombuffer(rest, np.uint8), **dict(self.waits.columns())}
        if self.expected:
            columns["expected"] = np.frombuffer(msgspec.json.encode(self.expected), np.uint8)
        return encoding.canonical(columns, {})

    def digest(self) -> str:
        return encoding.digest(self.canonical())

    def to_bytes(self) -> bytes:
        """Compressed form for storage."""
        return encoding.compress(self.canonical())

    @classmethod
    def from_bytes(cls, stored: bytes) -> "Plan":
        columns, _ = encoding.decode(stored)
        acts, evidence, objective, shown = msgspec.json.decode(
            columns.pop("rest").tobytes(), type=_Rest
        )
        expected = columns.pop("expected", _NOBODY).tobytes()
        return cls(
            **{
                name: decoder.decode(written)
                for (name, decoder), written in zip(_ACTS.items(), acts, strict=False)
            },
            expected=msgspec.json.decode(expected, type=tuple[Expected, ...]),
            waits=WaitTable.of(**columns),
            evidence=evidence,
            objective=float(objective),
            shown=dict(shown),
        )

    def diff(self, other: "Plan") -> list[str]:
        """What `other` says differently, a readable line each; empty when the plans are equal."""
        ours, theirs = _by_subject(self), _by_subject(other)
        lines = [
            f"{subject}: {ours.get(subject, 'nothing')} -> {theirs.get(subject, 'nothing')}"
            for subject in sorted(ours.keys() | theirs.keys())
            if ours.get(subject) != theirs.get(subject)
        ]
        if self.objective != other.objective:
            lines.append(f"objective: {self.objective!r} -> {other.objective!r}")
        if self.shown != other.shown:
            lines.append(f"shown: {self.shown} -> {other.shown}")
        if self.expected != other.expected:
            lines.append("jobs are expected to cost something else")
        if not lines and self.canonical() != other.canonical():
            lines.append("the same entries in another order")
        return lines


# How `canonical` writes everything but the waits.
_Rest = tuple[tuple[msgspec.Raw, ...], tuple[Evidence, ...], str, tuple[tuple[str, float], ...]]
_NOBODY = np.frombuffer(b"[]", np.uint8)
_ACTS: dict[str, msgspec.json.Decoder[Any]] = {
    "starts": msgspec.json.Decoder(tuple[Start, ...]),
    "preempts": msgspec.json.Decoder(tuple[Preempt, ...]),
    "moves": msgspec.json.Decoder(tuple[Move, ...]),
    "resizes": msgspec.json.Decoder(tuple[Resize, ...]),
    "clocks": msgspec.json.Decoder(tuple[SetClock, ...]),
    "power": msgspec.json.Decoder(tuple[PowerNode, ...]),
    "retunes": msgspec.json.Decoder(tuple[Retune, ...]),
}


def _by_subject(plan: Plan) -> dict[str, str]:
    said: dict[str, str] = {}
    acts = (*plan.starts, *plan.preempts, *plan.moves, *plan.resizes, *plan.clocks, *plan.retunes)
    for entry in acts:
        said[f"job {entry.job}"] = _words(entry)
    for switched in plan.power:
        said[f"node {switched.node}"] = "on" if switched.on else "off"
    for wait in plan.iter_waits():
        evidence = msgspec.json.encode(wait.evidence).decode()
        until = "" if wait.until_s is None else f" until {wait.until_s!r}"
        said[f"job {wait.job}"] = (
            f"wait {wait.reason.name.lower()} after {wait.ahead} jobs{until} {evidence}"
        )
    return said


def _words(entry: PlanEntry) -> str:
    verb = type(entry).__name__.lower()
    if isinstance(entry, Preempt):
        return f"{verb} for job {entry.for_job}, losing {entry.lost_gpu_s:g} GPU-s"
    if isinstance(entry, SetClock):
        return f"{verb} {entry.clock_mhz} MHz"
    assert isinstance(entry, Placing | Retune)  # noqa: S101  # there is no other entry
    mhz = entry.clock_mhz if isinstance(entry, Placing) else 0
    clock = f" at {mhz} MHz" if mhz else ""
    where = ", ".join(
        f"node {p.node} GPUs {p.gpus:#b} {p.cpus} CPUs {p.mem_mib} MiB" for p in entry.pieces
    )
    return f"{verb} on {where}{clock}"
