"""One piece of a campaign: a fresh stack, clients, so many faults, then the drain and the check."""

import random
import shutil
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from lab.chaos import disk
from lab.chaos.check import BrokenPromise, CampaignEvidence, violations
from lab.chaos.client import ChaosCaller, ChaosClient
from lab.chaos.faults import SMALL_DISK, Faults, Heal, InjectedFault
from lab.chaos.history import History, now_s
from lab.chaos.journals import processes_in
from lab.chaos.operator import ChaosOperator
from lab.chaos.proxy import Proxies
from lab.chaos.say import say
from lab.chaos.stack import START_S, Stack

CLIENTS = 3
# Everything ends within this after the last fault: leases, restarts and what still waits. A machine
# on which a start takes long is as slow at a restart, and that is not the service's doing.
STUCK_S, STARTS = 240.0, 5.0
Found = TypeVar("Found")


@dataclass
class PieceOutcome:
    """What a piece came to: counts for the ledger file, and the evidence behind them."""

    evidence: CampaignEvidence
    violations: Sequence[BrokenPromise]
    faults: Counter[str]
    worst_s: dict[str, float]
    reached: Sequence[str] = ()

    @property
    def submits(self) -> int:
        return sum(line["path"] == "jobs/" for line in self.evidence.of("answer"))


@dataclass
class CampaignPiece:
    """What is at hand while it runs."""

    stack: Stack
    history: History
    operator: ChaosOperator
    faults: Faults
    draw: random.Random
    worst_s: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    counts: Counter[str] = field(default_factory=Counter)

    def burst(self, most: int) -> int:
        """One to three faults at once, healed in the order in which they end; how many."""
        size = min(most, self.draw.choice([1, 1, 1, 2, 2, 3]))
        under_way: list[tuple[float, InjectedFault, Heal]] = []
        for _ in range(size):
            fault = self.faults.next()
            self.note(fault)
            under_way.append((now_s() + fault.lasts_s, fault, fault.begin()))
            time.sleep(self.draw.uniform(0.0, 1.0))
        for until_s, fault, heal in sorted(under_way, key=lambda each: each[0]):
            time.sleep(max(0.0, until_s - now_s()))
            heal()
            self.history.note("heal", kind=fault.kind, target=fault.target)
        self.recover([fault.kind for _, fault, _ in under_way])
        return size

    def note(self, fault: InjectedFault) -> None:
        self.counts[fault.kind] += 1
        self.history.note(
            "fault", kind=fault.kind, target=fault.target, lasts_s=fault.lasts_s,
            attempts=fault.attempts,
        )  # fmt: skip
        say(f"{sum(self.counts.values()):5d}  {fault.kind}: {fault.target} {fault.lasts_s:.1f} s")

    def recover(self, kinds: Sequence[str]) -> bool:
        """Measured after the last heal; what does not come back is found by the check as stuck."""
        took_s = self.operator.recovered_s()
        self.history.note("recovered", kinds=kinds, took_s=took_s)
        for kind in kinds:
            self.worst_s[kind] = max(self.worst_s[kind], took_s or float("inf"))
        return took_s is not None


Drive = Callable[[CampaignPiece], Sequence[str]]


def run_piece(home: Path, seed: str, drive: Drive) -> PieceOutcome:
    """`drive` hurts the stack while the clients work; it returns the crash points it reached."""
    # A campaign that was killed has left it mounted.
    disk.unmount(home / "var" / "agents" / SMALL_DISK)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    with _stack(home) as (stack, small_disk):
        piece = _piece(stack, seed, small_disk=small_disk)
        over = threading.Event()
        clients = [_client(piece, seed, number, over) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        reached = drive(piece)
        _drain(piece, clients, over)
        evidence = _evidence(piece)
    return PieceOutcome(evidence, violations(evidence), piece.counts, dict(piece.worst_s), reached)


def _piece(stack: Stack, seed: str, *, small_disk: bool) -> CampaignPiece:
    """Once every node has joined, and under a policy that preempts."""
    history, draw = History(stack.home / "history.jsonl"), random.Random(seed)
    caller = ChaosCaller(stack.url, stack.facts["operator_token"], history, "operator")
    patience_s = max(STUCK_S, STARTS * stack.started_in_s)
    operator = ChaosOperator(stack, caller, _campaign(seed), patience_s)
    _until(lambda: operator.nodes_speak(0.0) or None, START_S)
    operator.choose_policy()
    return CampaignPiece(stack, history, operator, Faults(stack, draw, small_disk), draw)


def _client(piece: CampaignPiece, seed: str, number: int, over: threading.Event) -> ChaosClient:
    token = piece.stack.facts["tenant_token"]
    caller = ChaosCaller(piece.stack.clients.url, token, piece.history, f"client-{number}")
    return ChaosClient(caller, f"{seed}:{number}", _campaign(seed), over)


def _campaign(seed: str) -> str:
    """What the labels of its jobs say."""
    return seed.replace(":", "-")


@contextmanager
def _stack(home: Path) -> Iterator[tuple[Stack, bool]]:
    proxies = Proxies()
    stack = Stack(home, proxies)
    small = stack.var / "agents" / SMALL_DISK
    has_small_disk = disk.mount(small)
    try:
        stack.start()
        stack.wait()
        yield stack, has_small_disk
    finally:
        stack.stop()
        proxies.close()
        if has_small_disk:
            disk.unmount(small)


def _drain(piece: CampaignPiece, clients: Sequence[ChaosClient], over: threading.Event) -> None:
    for client in clients:
        client.closing.set()
    begun_s = now_s()
    deadline_s = begun_s + piece.operator.patience_s
    while any(client.is_alive() for client in clients) and now_s() < deadline_s:
        piece.stack.revive()
        piece.operator.nodes_speak(0.0)
        time.sleep(0.5)
    piece.history.note("drained", took_s=now_s() - begun_s)
    over.set()
    for client in clients:
        client.join(timeout=30)


def _evidence(piece: CampaignPiece) -> CampaignEvidence:
    operator = piece.operator
    jobs = _until(operator.all_jobs, operator.patience_s)
    stopped = _until(operator.asked_to_stop, operator.patience_s)
    _until(lambda: operator.energy_settled() or None, operator.patience_s)
    energy = _until(operator.energy, operator.patience_s)
    journals = processes_in(piece.stack.var / "agents" / "checkpoints")
    return CampaignEvidence(
        piece.history.lines, journals, jobs or (), energy or (), stopped or frozenset()
    )


def _until(ask: Callable[[], Found | None], longest_s: float) -> Found | None:
    deadline_s = now_s() + longest_s
    while (found := ask()) is None and now_s() < deadline_s:
        time.sleep(0.5)
    return found
