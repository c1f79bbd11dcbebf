"""CPUs and memory of what a plan places, by sensitivity: residents give and get as in TUNE.

A job has one entry in a plan: who is stopped or gets another clock keeps the share it has.
"""

from collections.abc import Callable, Iterator
from typing import Any

from policies.bench.ledger import Ledger, RowPiece
from policies.bench.shares.exchange import exchange
from policies.bench.shares.job_shares import JobShares
from policies.bench.shares.needs import SharePoint, hard
from policies.bench.shares.packing import Newcomer, Tune
from policies.bench.shares.share_ledger import Holding, ShareLedger
from policies.contract.columns import Bool


class ShareTuner:
    """Jobs are rows of the snapshot."""

    def __init__(self, ledger: Ledger, roster: JobShares) -> None:
        self.roster = roster
        self.packing = Tune(ShareLedger(ledger))
        self.holdings: dict[int, Holding] = {}
        """Everybody on ready nodes, as the plan has them so far."""
        self._gone: set[int] = set()
        self._residents = roster.residents()
        for holding in self._residents:
            self.packing.book.sit(holding)
            self.holdings[holding.row] = holding
        self._had = {holding.row: holding.pieces for holding in self._residents}

    def place(self, job: Newcomer) -> list[RowPiece] | None:
        """Its demand, else its modest share, else that with what residents can do without."""
        holding = self.packing.place(job)
        if holding is None:
            return None
        self.holdings[job.row] = holding
        self._gone.discard(job.row)
        return holding.pieces

    def touched(self, row: int) -> bool:
        """Whether a resident has another share than it came with."""
        return self.holdings[row].pieces != self._had[row]

    def leave(self, row: int) -> None:
        """Take a job out, after the ledger has got its pieces back."""
        self.packing.book.leave(self.holdings[row])
        self._gone.add(row)

    def restore(self, row: int) -> None:
        """Put a job back that left, after the ledger has given it its pieces again."""
        self.packing.book.take(self.holdings[row])
        self._gone.discard(row)

    def freeze(self, row: int) -> None:
        """Nothing of what the job has is taken from here on, and nothing added."""
        self.leave(row)
        self.holdings[row].needs = hard(self.holdings[row].share)
        self.restore(row)

    def settle(
        self,
        rank: Callable[[Holding], Any],
        movable: Bool,
        pays: Callable[[Holding, SharePoint, Holding], bool],
    ) -> None:
        """What is left goes to who is below its demand; then running jobs change places."""
        here = [holding for row, holding in self.holdings.items() if row not in self._gone]
        self.packing.settle(here, rank)
        book, target = self.packing.book, self.packing.target
        exchange(book, list(self._staying()), movable, target, pays=pays)

    def changed(self) -> Iterator[tuple[Holding, bool]]:
        """Residents that have another share now, and whether on other GPUs."""
        for holding in self._staying():
            had = self._had[holding.row]
            if holding.pieces != had:
                yield holding, holding.pieces[0][:2] != had[0][:2]

    def _staying(self) -> Iterator[Holding]:
        for holding in self._residents:
            if self.holdings[holding.row] is holding and holding.row not in self._gone:
                yield holding
