"""From what jobs are to have to the changes of a round that bring them there.

First what gives room and watts back, then what takes them: a plan is never above its budget on the
way. A change that costs more time than it gains is not made.
"""

from collections.abc import Sequence

from policies.bench.bits import buddy_take, lowest_bits
from policies.bench.draft import SLACK_W, PlanDraft
from policies.bench.ledger import RowPiece, overlap
from policies.powerflow.candidates import WAITS, Candidate
from policies.powerflow.defragment import make_block

# Claims beyond the first few of a round find the same victims taken.
_MOST_CLAIMS = 8


class Changes:
    def __init__(
        self, draft: PlanDraft, candidates: Sequence[Candidate], *, preempts: bool
    ) -> None:
        self.draft = draft
        self.ledger = draft.ledger
        self.preempts = preempts
        self.running = [one for one in candidates if one.running]
        self.queue = [one for one in candidates if not one.running]
        self.releasing: set[tuple[int, int]] = set()
        """Pools in which GPUs come free once the plan is carried out."""
        self.unplaced: list[Candidate] = []
        self.coming_w = 0.0
        """What jobs that are being stopped for the budget will no longer draw."""

    def run(self) -> None:
        self._give_back()
        self._keep_budget()
        self._start()
        self._grow()
        self._raise_clocks()
        self._make_room()

    def _give_back(self) -> None:
        for one in self.running:
            if one.rung == WAITS:
                continue
            if one.movable and one.gpus < one.held and self._pays_to_shrink(one):
                self._shrink(one, one.rung, one.clock)
            elif self._clock_now(one) > self._clock_then(one) >= 0:
                self._set_clock(one, self._clock_then(one))

    def _pays_to_shrink(self, one: Candidate) -> bool:
        """Others gain its GPUs for as long as it would have held them: that must be worth it."""
        rung = one.ladder.rung_of(one.held)
        return rung < 0 or one.left_s(rung, self._clock_now(one)) > one.cost_s

    def _clock_now(self, one: Candidate) -> int:
        rung = one.ladder.rung_of(one.held)
        return one.ladder.clock_of(rung, one.clock_mhz) if rung >= 0 else -1

    def _clock_then(self, one: Candidate) -> int:
        """The clock it is to have on the GPUs it has; -1 where the ladder does not know them."""
        rung = one.ladder.rung_of(one.held)
        return (
            -1 if rung < 0 or one.rung == WAITS else min(one.clock, len(one.ladder.mhz[rung]) - 1)
        )

    def _shrink(self, one: Candidate, rung: int, clock: int) -> None:
        keep = one.ladder.counts[rung]
        ask = one.ask(self.draft, keep)
        pieces: list[RowPiece] = []
        for node, mask, _, _ in sorted(one.pieces, key=lambda piece: -piece[1].bit_count()):
            count = min(keep, mask.bit_count())
            if count:
                block = buddy_take(mask, self.ledger.gpus[node], count) or lowest_bits(mask, count)
                pieces.append((node, block, ask.cpus * count, ask.mem_mib * count))
                keep -= count
        self._resize(one, rung, clock, pieces)

    def _keep_budget(self) -> None:
        """While more is drawn than allowed, from the longest job on.

        Who is to wait is stopped. That takes a while, so clocks fall to the lowest at once; where
        not even that will do, jobs go down to their fewest GPUs, and then stop as well.
        """
        if self.ledger.watts_left >= 0 and min(self.ledger.partition_watts_left) >= 0:
            return
        for tier in (self._stop_waiting, self._lowest_clock, self._fewest_gpus, self._stop):
            for one in reversed(self.running):
                if not self.draft.acted(one.row):
                    tier(one, min(self.ledger.spare_w(piece[0]) for piece in one.pieces))

    def _stop_waiting(self, one: Candidate, spare_w: float) -> None:
        if one.rung == WAITS:
            self._stop(one, spare_w)

    def _lowest_clock(self, one: Candidate, spare_w: float) -> None:
        now, rung = self._clock_now(one), one.ladder.rung_of(one.held)
        if spare_w >= 0 or rung < 0:
            return
        least = min(range(now + 1), key=one.ladder.watts[rung].__getitem__)
        if least < now:
            self._set_clock(one, least)

    def _fewest_gpus(self, one: Candidate, spare_w: float) -> None:
        if spare_w + self.coming_w < 0 and one.movable and one.ladder.counts[0] < one.held:
            self._shrink(one, 0, one.ladder.efficient[0])

    def _stop(self, one: Candidate, spare_w: float) -> None:
        if spare_w + self.coming_w < 0 and one.movable:
            self.coming_w += sum(self.draft.held_w(one.row))
            self._preempt(one, one.row)

    def _start(self) -> None:
        claims = _MOST_CLAIMS
        for one in self.queue:
            if one.rung == WAITS or self._start_one(one):
                continue
            if self.preempts and claims and self._claim(one):
                claims -= 1
            else:
                self.unplaced.append(one)

    def _start_one(self, one: Candidate) -> bool:
        """At the size meant for it; smaller, unless the GPUs it lacks are on their way."""
        if self._start_at(one, one.rung, one.clock):
            return True
        pool = one.place
        if (pool.partition, pool.kind) in self.releasing:
            return False
        if any(self._start_at(one, rung, one.clock) for rung in one.narrower()):
            return True
        return any(self._start_elsewhere(one, at) for at in range(len(one.options)))

    def _start_elsewhere(self, one: Candidate, at: int) -> bool:
        pool, ladder = one.options[at]
        if pool is one.pool:
            return False
        meant = one.pool
        one.pool = pool
        if self._start_at(one, 0, ladder.efficient[0]):
            return True
        one.pool = meant
        return False

    def _claim(self, one: Candidate) -> bool:
        """Stop jobs that are to wait, the longest first, if that makes a place for this one."""
        ledger, taken, mark = self.ledger, [], self.draft.mark()
        ask = one.ask(self.draft, one.ladder.counts[0])
        found: list[RowPiece] | None = None
        for victim in reversed(self.running):
            if victim.rung != WAITS or victim.place is not one.place:
                continue
            if self.draft.acted(victim.row) or victim.rank_s <= one.rank_s:
                continue
            ledger.give(victim.pieces)
            taken.append(victim)
            found = ledger.strategy(ledger, ask, ask.own[one.place.kind])
            if found is not None:
                break
        self.draft.back(mark)
        if found is None:
            return False
        for victim in taken:
            if overlap(victim.pieces, found):
                self._preempt(victim, one.row)
        self.draft.keep(found, one.row)
        return True

    def _grow(self) -> None:
        for one in self.running:
            if self.draft.acted(one.row) or not one.movable or one.gpus <= one.held:
                continue
            rung = one.ladder.rung_of(one.held)
            for wider in (one.rung, *one.narrower()):
                if one.ladder.counts[wider] <= one.held:
                    break
                if rung >= 0:
                    gain_s = one.left_s(rung, one.clock) - one.left_s(wider, one.clock)
                    if not gain_s > one.cost_s:
                        break
                if self._widen(one, wider):
                    break
                if wider == one.rung:
                    self.unplaced.append(one)

    def _widen(self, one: Candidate, rung: int) -> bool:
        """Its own GPUs count as free for itself, and for nobody else in this round."""
        ledger, ladder = self.ledger, one.ladder
        ask = one.ask(self.draft, ladder.counts[rung])
        if not ledger.within_quota(one.tenant, one.place.kind, ask.gpus - one.held):
            return False
        mark = self.draft.mark()
        ledger.give(one.pieces)
        pieces = ledger.strategy(ledger, ask, ask.own[one.place.kind])
        if pieces is not None and self._affordable(one, rung, pieces):
            ledger.take(pieces)
            left = [(n, m & ledger.free[n], c, mem) for n, m, c, mem in one.pieces]
            ledger.take(left)
            self._resize(one, rung, one.clock, pieces)
            return True
        self.draft.back(mark)
        return False

    def _affordable(self, one: Candidate, rung: int, pieces: Sequence[RowPiece]) -> bool:
        more = sum(self.draft.added_w(pieces, one.ladder.watts[rung][one.clock]))
        more -= sum(self.draft.held_w(one.row))
        return more <= min(self.ledger.spare_w(node) for node, *_ in pieces)

    def _raise_clocks(self) -> None:
        for one in self.running:
            if self.draft.acted(one.row):
                continue
            now = self._clock_now(one)
            for clock in range(self._clock_then(one), now, -1):
                if now >= 0 and self._set_clock(one, clock):
                    break

    def _make_room(self) -> None:
        """One block a round, for the first job that can be helped to one."""
        for one in self.unplaced[:_MOST_CLAIMS]:
            if self.draft.acted(one.row) and one.running:
                continue
            movable = [
                other
                for other in self.running
                if other.movable and not self.draft.acted(other.row) and other.place is one.place
            ]
            if make_block(self.draft, one, movable):
                self.draft.reserved.append(one.row)
                return

    def _start_at(self, one: Candidate, rung: int, clock: int) -> bool:
        ladder = one.ladder
        ask = one.ask(self.draft, ladder.counts[rung], ladder.watts[rung][clock])
        return self.draft.start(one.row, ask, ladder.mhz[rung][clock])

    def _resize(self, one: Candidate, rung: int, clock: int, pieces: list[RowPiece]) -> None:
        ladder = one.ladder
        self.draft.resize(one.row, pieces, ladder.watts[rung][clock], ladder.mhz[rung][clock])
        self.releasing.add((one.place.partition, one.place.kind))

    def _set_clock(self, one: Candidate, clock: int) -> bool:
        ladder, rung = one.ladder, one.ladder.rung_of(one.held)
        watts, mhz = ladder.watts[rung][clock], ladder.mhz[rung][clock]
        return self.draft.set_clock(one.row, watts, mhz, SLACK_W)

    def _preempt(self, one: Candidate, for_row: int) -> None:
        self.draft.preempt(one.row, for_row)
        self.releasing.add((one.place.partition, one.place.kind))
