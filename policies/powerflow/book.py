"""The entries of a plan in the making, each taken from the ledger as it is written."""

from collections.abc import Sequence

from policies.bench.ledger import Ask, Ledger, RowPiece
from policies.bench.reach import Shape
from policies.contract.plan import Move, Preempt, Resize, SetClock, Start
from policies.contract.plan_columns import pieces_of
from policies.powerflow.candidates import Candidate

# Watts are sums of floats in another order than the checks'.
_SLACK_W = 1e-6


class Book:
    """A job gets one entry; what a resized or moved job leaves is free only in a later round."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.snapshot = ledger.snapshot
        self.limited = ledger.watts_per_gpu is not None
        self.starts: list[Start] = []
        self.resizes: list[Resize] = []
        self.moves: list[Move] = []
        self.clocks: list[SetClock] = []
        self.preempts: list[Preempt] = []
        self.acted: set[int] = set()
        self.releasing: set[tuple[int, int]] = set()
        """Pools in which GPUs come free once this plan is carried out."""
        self._ids: list[int] = self.snapshot.jobs.id.tolist()
        self._node_ids: list[int] = self.snapshot.nodes.id.tolist()
        jobs = self.snapshot.jobs
        self._cpus: list[int] = jobs.cpus_per_gpu.tolist()
        self._mem_mib: list[int] = jobs.mem_mib_per_gpu.tolist()
        self._span: list[int] = jobs.span.tolist()

    def ask(self, one: Candidate, gpus: int, gpu_w: float | None = None) -> Ask:
        """The ask of a job for so many GPUs; without `gpu_w` its watts are somebody else's care."""
        pool, row = one.place, one.row
        shape = Shape(
            pool.partition, 1 << pool.kind, gpus, self._cpus[row], self._mem_mib[row],
            self._span[row], False, -1,
        )  # fmt: skip
        ask = self.ledger.ask(shape, like_job=row)
        counted = self.limited and gpu_w is not None
        ask.watts = [gpu_w or 0.0] * len(self.ledger.idle_w) if counted else []
        return ask

    def start(self, one: Candidate, rung: int, clock: int) -> bool:
        ladder, kind = one.ladder, one.place.kind
        ask = self.ask(one, ladder.counts[rung], ladder.watts[rung][clock])
        types = self.ledger.types_within_quota(one.tenant, ask)
        hold = self.ledger.try_place(ask, one.tenant, types)
        if hold is None or hold.gpu_type != kind:
            return False
        pieces = pieces_of(self._node_ids, hold.pieces)
        self.starts.append(Start(self._ids[one.row], pieces, ladder.mhz[rung][clock]))
        self.acted.add(one.row)
        return True

    def resize(self, one: Candidate, rung: int, clock: int, pieces: Sequence[RowPiece]) -> None:
        """Onto `pieces`, taken from the ledger already, apart from its own GPUs."""
        self._place_anew(one, rung, clock, pieces)
        given = pieces_of(self._node_ids, pieces)
        self.resizes.append(Resize(self._ids[one.row], given, one.ladder.mhz[rung][clock]))
        self.releasing.add((one.place.partition, one.place.kind))

    def move(self, one: Candidate, pieces: Sequence[RowPiece]) -> None:
        given = pieces_of(self._node_ids, pieces)
        self.moves.append(Move(self._ids[one.row], given, one.clock_mhz))
        host_w = self.ledger.host_w
        for signed, moved in ((-1, one.pieces), (1, pieces)):
            for node, gpus, _, _ in moved:
                self.ledger.draw(node, signed * gpus.bit_count() * host_w[node])
        self.acted.add(one.row)
        self.releasing.add((one.place.partition, one.place.kind))

    def _place_anew(
        self, one: Candidate, rung: int, clock: int, pieces: Sequence[RowPiece]
    ) -> None:
        ledger = self.ledger
        for piece, watts in zip(one.pieces, self.held_w(one), strict=True):
            ledger.draw(piece[0], -watts)
        for piece in pieces:
            ledger.draw(piece[0], self._piece_w(one, piece, one.ladder.watts[rung][clock]))
        more = one.ladder.counts[rung] - one.held
        ledger.charge(one.tenant, one.place.kind, more)
        self.acted.add(one.row)

    def set_clock(self, one: Candidate, clock: int) -> bool:
        """Change the clock in place, unless that draws more watts than are left."""
        ladder, ledger = one.ladder, self.ledger
        rung = ladder.rung_of(one.held)
        mhz = ladder.mhz[rung][clock]
        if not self.limited:
            self.clocks.append(SetClock(self._ids[one.row], mhz))
            self.acted.add(one.row)
            return True
        then = [self._piece_w(one, piece, ladder.watts[rung][clock]) for piece in one.pieces]
        more = [after - now for after, now in zip(then, self.held_w(one), strict=True)]
        spare = min(ledger.spare_w(piece[0]) for piece in one.pieces)
        if sum(more) > max(spare - _SLACK_W, 0.0):
            return False
        for piece, watts in zip(one.pieces, more, strict=True):
            ledger.draw(piece[0], watts)
        self.clocks.append(SetClock(self._ids[one.row], mhz))
        self.acted.add(one.row)
        return True

    def preempt(self, one: Candidate, for_row: int) -> None:
        lost_gpu_s = one.cost_s * one.held
        self.preempts.append(Preempt(self._ids[one.row], self._ids[for_row], lost_gpu_s))
        self.acted.add(one.row)
        self.releasing.add((one.place.partition, one.place.kind))

    def held_w(self, one: Candidate) -> list[float]:
        """What a running job adds now, piece by piece."""
        table = self.ledger.watts_per_gpu
        gpu_w = 0.0 if table is None else float(table[one.row, one.place.kind])
        return [self._piece_w(one, piece, gpu_w) for piece in one.pieces]

    def _piece_w(self, one: Candidate, piece: RowPiece, gpu_w: float) -> float:
        if not self.limited:
            return 0.0
        ledger = self.ledger
        each = gpu_w - ledger.idle_w[one.place.kind] + ledger.host_w[piece[0]]
        return piece[1].bit_count() * each
