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
        self.seats: dict[int, Holding] = {}
        """Everybody on ready nodes, as the plan has them so far."""
        self._gone: set[int] = set()
        self._residents = roster.residents()
        for seat in self._residents:
            self.packing.book.sit(seat)
            self.seats[seat.row] = seat
        self._had = {seat.row: seat.pieces for seat in self._residents}

    def place(self, job: Newcomer) -> list[RowPiece] | None:
        """Its demand, else its modest share, else that with what residents can do without."""
        seat = self.packing.place(job)
        if seat is None:
            return None
        self.seats[job.row] = seat
        self._gone.discard(job.row)
        return seat.pieces

    def touched(self, row: int) -> bool:
        """Whether a resident has another share than it came with."""
        return self.seats[row].pieces != self._had[row]

    def leave(self, row: int) -> None:
        """Take a job out, after the ledger has got its pieces back."""
        self.packing.book.leave(self.seats[row])
        self._gone.add(row)

    def rejoin(self, row: int) -> None:
        """Put a job back that left, after the ledger has given it its pieces again."""
        self.packing.book.take(self.seats[row])
        self._gone.discard(row)

    def freeze(self, row: int) -> None:
        """Nothing of what the job has is taken from here on, and nothing added."""
        self.leave(row)
        self.seats[row].appetite = hard(self.seats[row].share)
        self.rejoin(row)

    def settle(
        self,
        rank: Callable[[Holding], Any],
        movable: Bool,
        pays: Callable[[Holding, SharePoint, Holding], bool],
    ) -> None:
        """What is left goes to who is below its demand; then running jobs change places."""
        here = [seat for row, seat in self.seats.items() if row not in self._gone]
        self.packing.settle(here, rank)
        book, target = self.packing.book, self.packing.target
        exchange(book, list(self._staying()), movable, target, pays=pays)

    def changed(self) -> Iterator[tuple[Holding, bool]]:
        """Residents that have another share now, and whether on other GPUs."""
        for seat in self._staying():
            had = self._had[seat.row]
            if seat.pieces != had:
                yield seat, seat.pieces[0][:2] != had[0][:2]

    def _staying(self) -> Iterator[Holding]:
        for seat in self._residents:
            if self.seats[seat.row] is seat and seat.row not in self._gone:
                yield seat
