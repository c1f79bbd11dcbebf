"""How jobs get CPUs and memory with their GPUs: what packings have in common, and TUNE."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from policies.bench.ledger import Ask, Hold, RowPiece
from policies.bench.reach import Shape
from policies.bench.shares.needs import Needs, Share
from policies.bench.shares.share_ledger import Holding, ShareLedger


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A job to be placed; `shape` says where it may go, without CPUs and memory.

    `watts` are what a GPU of each type draws with it, where its clock is not the one it has now.
    """

    row: int
    gpus: int
    tenant: int
    shape: Shape
    needs: Needs
    watts: tuple[float, ...] = ()


Asks = dict[tuple[Shape, Share, tuple[float, ...]], Ask]
"""By where a job may go, its share and its watts."""


class Packing(ABC):
    """Places newcomers in a book; what differs between packings is which shares they try."""

    takes_back: ClassVar[bool] = False
    fills: ClassVar[bool] = True
    """Whether jobs behind the runnable set may use what it leaves idle."""

    def __init__(
        self,
        book: ShareLedger,
        residents: Sequence[Holding] = (),
        newcomers: Sequence[Newcomer] = (),
    ) -> None:
        """A packing that looks at the cluster as a whole needs to know who is in it."""
        self.book = book
        self.ledger = book.ledger
        self.bound: float | None = None
        self._asks: Asks = {}
        self._reaching: Asks = {}

    @abstractmethod
    def shares(self, job: Newcomer) -> tuple[Share, ...]:
        """The shares to try, in order."""

    @abstractmethod
    def target(self, holding: Holding) -> Share:
        """What a resident should have, if its nodes have it to give."""

    def place(self, job: Newcomer, *, borrow: bool = False) -> Holding | None:
        types = self.ledger.types_within_quota(job.tenant, self.ask(job, Share(0, 0)))
        for share in self.shares(job) if types else ():
            hold = self.ledger.try_place(self.ask(job, share), job.tenant, types, borrow=borrow)
            if hold is not None:
                return self._hold(job, hold)
        return self._by_taking_back(job, types) if self.takes_back and not borrow else None

    def ask(self, job: Newcomer, share: Share) -> Ask:
        """An ask remembers which nodes were too short for it, so each share keeps its own."""
        return self._ask(self._asks, job, share)

    def _ask(self, asks: Asks, job: Newcomer, share: Share) -> Ask:
        key = (job.shape, share, job.watts)
        found = asks.get(key)
        if found is None:
            shape = job.shape._replace(cpus_per_gpu=share.cpus, mem_mib_per_gpu=share.mem_mib)
            found = asks[key] = self.ledger.ask(shape, like_job=job.row)
            if job.watts:
                found.watts = list(job.watts)
        return found

    def _hold(self, job: Newcomer, hold: Hold) -> Holding:
        holding = Holding.of(job.row, job.needs, list(hold.pieces))
        self.book.take(holding)
        return holding

    def within_reach(self, job: Newcomer, types: tuple[int, ...]) -> list[RowPiece] | None:
        """Servers by their free GPUs, among those whose residents could give up enough."""
        book, ledger = self.book, self.ledger
        ask = self._ask(self._reaching, job, job.needs.modest)
        free = ledger.cpus, ledger.mem_mib
        ledger.cpus, ledger.mem_mib = book.cpus_within_reach, book.mem_within_reach
        ask.unfit = 0
        found = (ledger.strategy(ledger, ask, ask.own[kind]) for kind in types if ask.own[kind])
        pieces = next(filter(None, found), None)
        ledger.cpus, ledger.mem_mib = free
        return pieces

    def _by_taking_back(self, job: Newcomer, types: tuple[int, ...]) -> Holding | None:
        pieces = self.within_reach(job, types)
        needed = {node: Share(cpus, mem_mib) for node, _, cpus, mem_mib in pieces or ()}
        if pieces is None or not self.book.take_back(needed):
            return None
        ask = self._ask(self._reaching, job, job.needs.modest)
        kind = self.ledger.gpu_type[pieces[0][0]]
        hold = self.ledger.try_take(ask, job.tenant, kind, pieces)
        return None if hold is None else self._hold(job, hold)

    def settle(self, holdings: Iterable[Holding], rank: Callable[[Holding], Any]) -> None:
        """Bring everybody as near to their target as what is left allows, in order of rank.

        Whoever has too much comes first: what it gives up is there for the others. Then whoever
        another policy left below its modest share gets that, before anybody gets more.
        """
        short = []
        for holding in sorted((h for h in holdings if h.share != self.target(h)), key=rank):
            if self.target(holding).within(holding.share):
                self._approach(holding)
            else:
                short.append(holding)
        for holding in short:
            modest, speed = holding.needs.modest, holding.needs.speed
            if speed(holding.share) < speed(modest) and self.book.fits(holding, modest):
                self.book.change(holding, modest)
        for holding in short:
            self._approach(holding)

    def _approach(self, holding: Holding) -> None:
        book, target = self.book, self.target(holding)
        if book.fits(holding, target):
            book.change(holding, target)
            return
        best = next((p for p in holding.needs.points if book.fits(holding, p.share)), None)
        if best is not None and best.speed > holding.needs.speed(holding.share):
            book.change(holding, best.share)


class Tune(Packing):
    """The demand, else the proportional share, else what others have beyond theirs."""

    takes_back = True

    def shares(self, job: Newcomer) -> tuple[Share, ...]:
        demand, modest = job.needs.demand, job.needs.modest
        return (demand,) if demand == modest else (demand, modest)

    def target(self, holding: Holding) -> Share:
        return holding.needs.demand
