"""Jobs in order, each in its cheapest way at its cheapest time: plain Python that gets compiled.

Read as it stands, this file is the twin that tests compare with. Callees stand above callers.
"""

import numpy as np

from policies.bench.ways import Ways
from policies.contract.columns import F64, I32, I64, Bool
from policies.fairwatt.arrays import Ahead, Made, Wants

INFINITE = 1e300
# What a later start must save of the money at stake: prices are summed in floats.
GAIN = 1e-9


def cheapest_start(
    free: I32, power: F64, edges_s: F64, area: F64, tail: float, least: float,
    at: int, last: int, need: int, need_w: float, long_s: float,
    wait: float, omega: float, due_s: float, latest_s: float, rents: F64, best: float,
) -> tuple[int, float, float, int, float]:  # fmt: skip
    """The cheapest start of one way in time from slot `at` to `last`, if it costs less than `best`.

    Returns its slot, its money with and without rent, and slot and money of the first start that
    is not in time; a slot of -1 is none. `rents` are what a GPU was rented for until each edge:
    rent sways the choice, and nobody pays it.
    """
    slots = len(power)
    until, end = at, at
    found, found_paid, late, late_paid = -1, INFINITE, -1, INFINITE
    while at <= last:
        finish_s = edges_s[at] + long_s
        delay = wait * finish_s + omega * max(0.0, finish_s - due_s)
        # Nothing that starts from here on can cost less than this.
        if need_w * least * long_s + delay >= best:
            break
        # Look only over slots that were not looked at for an earlier start.
        until = max(until, at)
        while until < slots and edges_s[until] < finish_s:
            if free[until] < need or power[until] < need_w:
                break
            until += 1
        if until < slots and edges_s[until] < finish_s:
            at = until + 1
            continue
        while end < slots and edges_s[end + 1] < finish_s:
            end += 1
        after = area[slots] + tail * (finish_s - edges_s[slots])
        rent = rents[slots] - rents[at]
        if end < slots:
            share = (finish_s - edges_s[end]) / (edges_s[end + 1] - edges_s[end])
            after = area[end] + share * (area[end + 1] - area[end])
            rent = rents[end] + share * (rents[end + 1] - rents[end]) - rents[at]
        paid = need_w * (after - area[at]) + delay
        if at > 0 and edges_s[at] > latest_s:
            late, late_paid = at, paid
            break
        if paid + need * rent < best - GAIN * abs(best):
            best = paid + need * rent
            found, found_paid = at, paid
        at += 1
    return found, best, found_paid, late, late_paid


def take(
    free: I32, power: F64, edges_s: F64, at: int, need: int, need_w: float, long_s: float
) -> None:
    """Out of the room of one pool, or with negative numbers back into it."""
    finish_s = edges_s[at] + long_s
    while at < len(power) and edges_s[at] < finish_s:
        free[at] -= need
        power[at] -= need_w
        at += 1


def beyond(
    low: int, high: int, run_s: F64, watts: F64, begin_s: float, tail: float,
    wait: float, omega: float, due_s: float,
) -> tuple[int, float]:  # fmt: skip
    """The cheapest way at the end of the time ahead, for a job that nothing before has room for."""
    found, paid = low, INFINITE
    for way in range(low, high):
        finish_s = begin_s + run_s[way]
        money = watts[way] * tail * run_s[way] + wait * finish_s
        money += omega * max(0.0, finish_s - due_s)
        if money < paid:
            found, paid = way, money
    return found, paid


def cheapest_way(
    free: I32, power: F64, edges_s: F64, area: F64, tail: float, least: float, low: int, high: int,
    pool: I64, gpus: I64, run_s: F64, watts: F64, stays: Bool,
    wait: float, omega: float, due_s: float, latest_s: float, rents: F64, begin: I64,
) -> tuple[int, int, float, int, int, float, bool]:  # fmt: skip
    """Way, slot and money of the cheapest start in time of one job, and of the first that is late.

    A way of -1 is none. The last says whether it could start now. `begin` is moved on to the first
    slot with room for so many GPUs of each pool.
    """
    slots = len(power)
    best, best_way, best_at, best_paid = INFINITE, -1, slots, 0.0
    late, late_way, late_at = INFINITE, -1, slots
    now = False
    for way in range(low, high):
        p, need = pool[way], gpus[way]
        at = begin[p, need]
        while at < slots and free[p, at] < need:
            at += 1
        begin[p, need] = at
        last = 0 if stays[way] else slots - 1
        found, swayed, paid, late_slot, late_paid = cheapest_start(
            free[p], power, edges_s, area, tail, least, at, last, need, watts[way],
            run_s[way], wait, omega, due_s, latest_s, rents[p], best,
        )  # fmt: skip
        now = now or (at == 0 and power[0] >= watts[way])
        if found >= 0:
            best, best_way, best_at, best_paid = swayed, way, found, paid
        if late_slot >= 0 and late_paid < late:
            late, late_way, late_at = late_paid, way, late_slot
    return best_way, best_at, best_paid, late_way, late_at, late, now


def construct(
    ways: Ways, wants: Wants, ahead: Ahead, order: I64, settled: int, reserve: bool, rents: F64,
    made: Made,
) -> float:  # fmt: skip
    """Fill `made` job by job along `order`, and return what all will cost.

    The first `settled` of the order keep what `made` says. With `reserve` what running jobs hold
    is nobody else's. `rents` is what a GPU of each pool was rented for until each edge.
    """
    # Out of their tuples once: a look into a tuple for every job is what takes the time.
    first, pool, gpus, run_s = ways.first, ways.pool, ways.gpus, ways.run_s
    watts, stays = ways.watts, ways.stays
    wait, omega, due_s, latest_s, held = wants
    edges_s, area, tail, least = ahead.edges_s, ahead.area, ahead.tail, ahead.least
    chosen, slot, cost, ready = made
    free, power = ahead.free.copy(), ahead.power.copy()
    slots = len(power)
    endless = np.full(slots, np.inf)
    # Room only shrinks: before this slot the pool has so many GPUs free no more.
    widest = max(gpus.max(), 0) if len(gpus) else 0
    begin = np.zeros((free.shape[0], widest + 1), np.int64)
    if reserve:
        for job in order:
            if held[job] >= 0:
                way = held[job]
                take(free[pool[way]], power, edges_s, 0, gpus[way], watts[way], run_s[way])
    total = 0.0
    for position in range(len(order)):
        job = order[position]
        stay = held[job]
        if reserve and stay >= 0:
            take(free[pool[stay]], power, edges_s, 0, -gpus[stay], -watts[stay], run_s[stay])
            begin[pool[stay], :] = 0
        if position >= settled:
            best_way, best_at, best_paid, late_way, late_at, late_paid, now = cheapest_way(
                free, power, edges_s, area, tail, least, first[job], first[job + 1], pool, gpus,
                run_s, watts, stays, wait[job], omega[job], due_s[job], latest_s[job], rents, begin,
            )  # fmt: skip
            if best_way < 0 and stay >= 0:
                # Watts that are drawn already are no reason to stop.
                found, _, paid, _, _ = cheapest_start(
                    free[pool[stay]], endless, edges_s, area, tail, least, 0, 0, gpus[stay],
                    watts[stay], run_s[stay], wait[job], omega[job], due_s[job], 0.0,
                    rents[pool[stay]], INFINITE,
                )  # fmt: skip
                if found >= 0:
                    best_way, best_at, best_paid = stay, 0, paid
            if best_way < 0 and late_way >= 0:
                best_way, best_at, best_paid = late_way, late_at, late_paid
            if best_way < 0:
                best_way, best_paid = beyond(
                    first[job], first[job + 1], run_s, watts, edges_s[slots], tail, wait[job],
                    omega[job], due_s[job],
                )  # fmt: skip
            chosen[job], slot[job], cost[job], ready[job] = best_way, best_at, best_paid, now
        way = chosen[job]
        if slot[job] < slots:
            take(free[pool[way]], power, edges_s, slot[job], gpus[way], watts[way], run_s[way])
        total += cost[job]
    return total


def relaxed(ways: Ways, wants: Wants, ahead: Ahead, rents: F64, used: F64, paid: F64) -> float:
    """What all jobs would pay at least, had they to pay rent for their GPUs.

    A job that starts within a slot pays as if at its beginning, and holds for sure only the time
    from the slot's end to its own earliest finish. `used` sums these GPU-seconds, `paid` is what
    each job pays without them.
    """
    first, pool, gpus, run_s = ways.first, ways.pool, ways.gpus, ways.run_s
    watts, stays = ways.watts, ways.stays
    wait, omega, due_s, _, _ = wants
    edges_s, area, tail, least = ahead.edges_s, ahead.area, ahead.tail, ahead.least
    slots = len(edges_s) - 1
    total = 0.0
    for job in range(len(first) - 1):
        best, best_way, best_at = INFINITE, -1, 0
        for way in range(first[job], first[job + 1]):
            p, need, long_s = pool[way], gpus[way], run_s[way]
            floor = watts[way] * least * long_s
            end = 0
            for at in range(slots + 1):
                finish_s = edges_s[at] + long_s
                delay = wait[job] * finish_s + omega[job] * max(0.0, finish_s - due_s[job])
                if floor + delay >= best:
                    break
                while end < slots and edges_s[end + 1] < finish_s:
                    end += 1
                after = area[slots] + tail * max(0.0, finish_s - edges_s[slots])
                rent = rents[p, slots]
                if end < slots:
                    share = (finish_s - edges_s[end]) / (edges_s[end + 1] - edges_s[end])
                    after = area[end] + share * (area[end + 1] - area[end])
                    rent = rents[p, end] + share * (rents[p, end + 1] - rents[p, end])
                since = at if stays[way] else min(at + 1, slots)
                sure_s = max(0.0, finish_s - edges_s[since])
                energy = watts[way] * least * (long_s - sure_s)
                if sure_s > 0:
                    energy += watts[way] * (after - area[since])
                money = energy + delay + need * max(0.0, rent - rents[p, since])
                if money < best:
                    best, best_way, best_at = money, way, at
                    paid[job] = energy + delay
                if stays[way]:
                    break
        if best_way < 0:
            continue
        total += best
        finish_s = edges_s[best_at] + run_s[best_way]
        for at in range(best_at if stays[best_way] else best_at + 1, slots):
            if edges_s[at] >= finish_s:
                break
            inside_s = min(edges_s[at + 1], finish_s) - edges_s[at]
            used[pool[best_way], at] += gpus[best_way] * inside_s
    return total
