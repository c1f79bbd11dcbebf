"""Attempts as the journal knows them: held, ended and not yet acknowledged, and forgotten."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from agent.remember.journal import Entry, Journal
from agent.wire import AttemptRef, AttemptReport, DesiredAttempt, decode, encode

TOMBSTONES = 2_000  # attempts remembered so that a late answer cannot start them again


@dataclass(frozen=True, slots=True)
class HeldAttempt:
    """A promise made before anything was started."""

    attempt: DesiredAttempt
    boot_id: str
    held_s: float
    cpus: frozenset[int]
    energy_start_mj: dict[str, int]


@dataclass(frozen=True, slots=True)
class EndedAttempt:
    report: AttemptReport
    boot_id: str
    ended_s: float
    acked: bool = False

    def report_at(self, boot_id: str, now_s: float) -> AttemptReport:
        age_s = max(0.0, now_s - self.ended_s) if boot_id == self.boot_id else None
        return msgspec.structs.replace(self.report, ended_age_s=age_s)


class AttemptStore:
    """Every change is a journal line first, so that store and journal cannot disagree."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.held: dict[AttemptRef, HeldAttempt] = {}
        self.ended: dict[AttemptRef, EndedAttempt] = {}
        self._gone: OrderedDict[AttemptRef, None] = OrderedDict()
        for entry in journal.entries:
            self._replay(entry)

    @property
    def has_room(self) -> bool:
        """For the ends of all that it holds, whatever becomes of the disk."""
        return self._journal.has_room

    def known(self, ref: AttemptRef) -> bool:
        return ref in self.held or ref in self.ended or ref in self._gone

    def hold(self, held: HeldAttempt) -> None:
        self._journal.append(**_hold_entry(held))
        self.held[held.attempt.ref] = held

    def release(self, ended: EndedAttempt) -> None:
        """The attempt is over and its GPUs are free."""
        self._journal.append(**_release_entry(ended))
        self.held.pop(ended.report.ref, None)
        self.ended[ended.report.ref] = ended

    def ack(self, ref: AttemptRef) -> None:
        if ref in self.ended and not self.ended[ref].acked:
            # Not synced, as the next two: what a crash forgets of these is only said again.
            self._journal.append(synced=False, event="ack", **_ref(ref))
            self.ended[ref] = replace(self.ended[ref], acked=True)

    def forget(self, ref: AttemptRef) -> None:
        self._journal.append(synced=False, event="forget", **_ref(ref))
        self._bury(ref)

    def note(self, event: str, ref: AttemptRef, **facts: Any) -> None:
        """For whoever reads the journal: nothing is decided by it."""
        self._journal.append(synced=False, event=event, **_ref(ref), **facts)

    def entries(self) -> Iterator[Entry]:
        """What a compacted journal must still say."""
        for ref in self._gone:
            yield {"event": "forget", **_ref(ref)}
        yield from map(_hold_entry, self.held.values())
        for ref, ended in self.ended.items():
            yield _release_entry(ended)
            if ended.acked:
                yield {"event": "ack", **_ref(ref)}

    def _bury(self, ref: AttemptRef) -> None:
        self.held.pop(ref, None)
        self.ended.pop(ref, None)
        self._gone[ref] = None
        while len(self._gone) > TOMBSTONES:
            self._gone.popitem(last=False)

    def _replay(self, entry: Entry) -> None:
        match entry["event"]:
            case "hold":
                held = _held(entry)
                self.held[held.attempt.ref] = held
            case "release":
                ended = _ended(entry)
                self.held.pop(ended.report.ref, None)
                self.ended[ended.report.ref] = ended
            case "ack":
                ref = AttemptRef(entry["attempt_id"], entry["fence"])
                self.ended[ref] = replace(self.ended[ref], acked=True)
            case "forget":
                self._bury(AttemptRef(entry["attempt_id"], entry["fence"]))


def double_holds(entries: Iterable[Entry]) -> list[str]:
    """GPUs that a journal shows in two hands at once: always none, and tests look."""
    holder: dict[str, AttemptRef] = {}
    found = []
    for entry in entries:
        if entry["event"] == "hold":
            held = _held(entry)
            for uuid in held.attempt.gpu_uuids:
                if (other := holder.get(uuid)) not in (None, held.attempt.ref):
                    found.append(f"{uuid}: {other} and {held.attempt.ref}")
                holder[uuid] = held.attempt.ref
        elif entry["event"] == "release":
            ref = _ended(entry).report.ref
            holder = {uuid: other for uuid, other in holder.items() if other != ref}
    return found


def _ref(ref: AttemptRef) -> Entry:
    return {"attempt_id": ref.attempt_id, "fence": ref.fence}


def _hold_entry(held: HeldAttempt) -> Entry:
    return {
        "event": "hold",
        # A tenant's values are given again until the attempt runs, and stand nowhere.
        "attempt": encode(msgspec.structs.replace(held.attempt, env={}, secrets=())).decode(),
        "boot_id": held.boot_id,
        "held_s": held.held_s,
        "cpus": sorted(held.cpus),
        "energy_start_mj": held.energy_start_mj,
    }


def _held(entry: Entry) -> HeldAttempt:
    return HeldAttempt(
        attempt=decode(DesiredAttempt, entry["attempt"].encode()),
        boot_id=entry["boot_id"],
        held_s=entry["held_s"],
        cpus=frozenset(entry["cpus"]),
        energy_start_mj=entry["energy_start_mj"],
    )


def _release_entry(ended: EndedAttempt) -> Entry:
    return {
        "event": "release",
        "report": encode(ended.report).decode(),
        "boot_id": ended.boot_id,
        "ended_s": ended.ended_s,
    }


def _ended(entry: Entry) -> EndedAttempt:
    report = decode(AttemptReport, entry["report"].encode())
    return EndedAttempt(report, entry["boot_id"], entry["ended_s"])
