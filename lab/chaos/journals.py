"""The journals that jobs wrote on their nodes, read as attempts: when, where and how far."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lab.chaos.history import Line, read_lines


@dataclass(frozen=True)
class JournalProcess:
    """One rank of one attempt; it has lived from its first line to its last, at least."""

    job: int
    attempt: int
    rank: int
    world: int
    node: str
    gpus: tuple[str, ...]
    start_s: float
    last_s: float
    ended: bool


@dataclass(frozen=True)
class JournalRun:
    """One attempt of a job, all its ranks together."""

    job: int
    attempt: int
    processes: tuple[JournalProcess, ...]

    @property
    def start_s(self) -> float:
        return min(each.start_s for each in self.processes)

    @property
    def last_s(self) -> float:
        return max(each.last_s for each in self.processes)

    @property
    def whole(self) -> bool:
        """Every rank came to its end."""
        ended = {each.rank for each in self.processes if each.ended}
        return len(ended) == self.processes[0].world


def processes_in(directory: Path) -> list[JournalProcess]:
    found = (list(read_lines(path)) for path in sorted(directory.glob("*/journal-*.jsonl")))
    return [_process(lines) for lines in found if lines]


def runs(processes: Iterable[JournalProcess]) -> list[JournalRun]:
    by_attempt: dict[tuple[int, int], list[JournalProcess]] = defaultdict(list)
    for each in processes:
        by_attempt[each.job, each.attempt].append(each)
    made = [JournalRun(job, attempt, tuple(of)) for (job, attempt), of in by_attempt.items()]
    return sorted(made, key=lambda run: run.start_s)


def _process(lines: list[Line]) -> JournalProcess:
    first, last = lines[0], lines[-1]
    return JournalProcess(
        job=first["job"],
        attempt=first["attempt"],
        rank=first["rank"],
        world=first["world"],
        node=first["node"],
        gpus=tuple(first["gpus"]),
        start_s=first["at_s"],
        last_s=last["at_s"],
        ended=last["event"] == "end",
    )
