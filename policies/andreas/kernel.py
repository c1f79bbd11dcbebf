"""Schedules built and judged, by the thousand: plain Python that `compiled` turns to machine code.

Whole numbers stay within 63 bits and only array operations that numba knows are used, so that
both readings of this file give the same numbers. Callees stand above their callers.
"""

import numpy as np

from policies.andreas.problem import AndreasProblem, Elite, How, Scratch
from policies.contract.columns import F64, I64

# The number of a lone bit in a word of 32, by de Bruijn's sequence.
DE_BRUIJN = 0x077CB531
LOW32 = 0xFFFFFFFF
BIT_NUMBER = np.array(
    [0, 1, 28, 2, 29, 14, 24, 3, 30, 22, 20, 15, 25, 17, 4, 8,
     31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6, 11, 5, 10, 9]
)  # fmt: skip


def draw(state: I64) -> float:
    """The next number of Marsaglia's xorshift32, from 0 to below 1; the state is never 0."""
    x = state[0]
    x ^= (x << 13) & LOW32
    x ^= x >> 17
    x ^= (x << 5) & LOW32
    state[0] = x
    return float(x) / 4294967296.0


def shuffle(order: I64, weight: F64, bias: float, state: I64) -> None:
    """Walk the order once, swapping neighbours; sooner if that brings the heavier one forward."""
    for i in range(len(order) - 1):
        here, there = order[i], order[i + 1]
        chance = 0.5 + bias if weight[there] > weight[here] else 0.5 - bias
        if draw(state) < chance:
            order[i], order[i + 1] = there, here


def price_area(problem: AndreasProblem, seconds: float) -> float:
    """What one watt costs from now for so many seconds."""
    at = len(problem.price_at_s) - 1
    while problem.price_at_s[at] > seconds:
        at -= 1
    return float(problem.price_area[at] + problem.price[at] * (seconds - problem.price_at_s[at]))


def reset(problem: AndreasProblem, room: Scratch) -> None:
    room.most_w[:] = 0.0
    room.free[:] = problem.node_free
    room.busy[:] = problem.node_busy
    room.cpus[:] = problem.node_cpus
    room.mem_mib[:] = problem.node_mem_mib
    room.sets[:] = room.first_sets
    room.counts[:] = room.first_counts
    room.used[:] = problem.used
    room.used_by_type[:] = problem.used_by_type
    room.watts[0] = problem.fixed_w
    room.watts[1] = problem.watts_left
    room.config_of[:] = -1
    room.node_of[:] = -1


def allowed(problem: AndreasProblem, room: Scratch, job: int, kind: int, gpus: int) -> bool:
    """Whether the tenant's quotas leave room for so many more GPUs of a type."""
    tenant = problem.job_tenant[job]
    quota, by_type = problem.quota[tenant], problem.quota_by_type[tenant, kind]
    return not (
        (quota >= 0 and room.used[tenant] + gpus > quota)
        or (by_type >= 0 and room.used_by_type[tenant, kind] + gpus > by_type)
    )


def budget_w(problem: AndreasProblem, job: int, kind: int, node: int) -> float:
    """What one GPU of a job on a node adds to what the power budget bounds."""
    return float(problem.job_budget_w[job, kind] + problem.node_budget_w[node])


def charge(
    problem: AndreasProblem, room: Scratch, job: int, kind: int, node: int, gpus: int
) -> None:
    tenant = problem.job_tenant[job]
    room.used[tenant] += gpus
    room.used_by_type[tenant, kind] += gpus
    room.watts[1] -= gpus * budget_w(problem, job, kind, node)


def rebucket(sets: I64, counts: I64, alike: int, place: int, was: int, now: int) -> None:
    """Move a node of a class from one number of free GPUs to another."""
    word, bit = place // 32, 1 << (place % 32)
    sets[alike, was, word] ^= bit
    counts[alike, was] -= 1
    sets[alike, now, word] ^= bit
    counts[alike, now] += 1


def take(
    problem: AndreasProblem, room: Scratch, job: int, kind: int, node: int, gpus: int, gpu_w: float
) -> None:
    """Give so many GPUs of a node to a job, whose GPUs draw `gpu_w` there."""
    alike, was = problem.node_class[node], room.free[node]
    free = 0 if problem.exclusive else was - gpus
    rebucket(room.sets, room.counts, alike, node - problem.class_first[alike], was, free)
    room.free[node] = free
    if room.busy[node] == 0:
        room.watts[0] += problem.node_base_w[node]
    room.busy[node] += gpus
    room.watts[0] += gpu_w + gpus * problem.node_host_w[node]
    room.cpus[node] -= problem.job_cpus[job] * gpus
    room.mem_mib[node] -= problem.job_mem_mib[job] * gpus
    if problem.limited:
        charge(problem, room, job, kind, node, gpus)


def fitting(
    bits: int, first: int, cpus: I64, mem_mib: I64, need_cpus: int, need_mib: int, most_w: F64
) -> int:
    """The lowest of a word's nodes with the CPUs and memory, and no more watts than are left."""
    while bits:
        low = bits & -bits
        node = first + BIT_NUMBER[((low * DE_BRUIJN) & LOW32) >> 27]
        if cpus[node] >= need_cpus and mem_mib[node] >= need_mib and most_w[node] >= 0:
            return int(node)
        bits ^= low
    return -1


def pick(drawn: I64, at: int, end: int, alpha: float, state: I64) -> None:
    """Bring one of the first of `drawn[at:end]` to its head, the others keeping their order."""
    width = int(alpha * (end - at) + 0.5)
    if width > 1:
        chosen = at + int(draw(state) * width)
        config = drawn[chosen]
        for i in range(chosen, at, -1):
            drawn[i] = drawn[i - 1]
        drawn[at] = config


def cost(problem: AndreasProblem, room: Scratch) -> float:
    """The objective: energy and tardiness up to the first finish, and the risk of the postponed."""
    config_of = room.config_of
    first_s = problem.fixed_first_s
    penalty = 0.0
    for job in range(len(config_of)):
        if config_of[job] >= 0:
            first_s = min(first_s, problem.config_s[config_of[job]])
        else:
            penalty += problem.job_penalty[job]
    if first_s == np.inf:
        return penalty
    late = 0.0
    for job in range(len(config_of)):
        if config_of[job] >= 0:
            late += problem.job_weight[job] * max(first_s - problem.job_slack_s[job], 0.0)
    for i in range(len(problem.fixed_weight)):
        late += problem.fixed_weight[i] * max(first_s - problem.fixed_slack_s[i], 0.0)
    return float(room.watts[0] * price_area(problem, first_s) + late + penalty)


def proxy(problem: AndreasProblem, room: Scratch) -> float:
    """The follow-ups' measure, negated: slowest time over cost to the end, of the scheduled."""
    total = 0.0
    for job in range(len(room.config_of)):
        config, node = room.config_of[job], room.node_of[job]
        if config < 0:
            continue
        seconds, gpus = problem.config_s[config], problem.config_gpus[config]
        watts = problem.config_w[config] + gpus * problem.node_host_w[node]
        watts += problem.node_base_w[node] * gpus / room.busy[node]
        late_s = max(seconds - problem.job_slack_s[job], 0.0)
        money = watts * price_area(problem, seconds) + problem.job_weight[job] * late_s
        total += problem.job_slowest_s[job] / max(money, 1e-12)
    return -total


def admit(problem: AndreasProblem, room: Scratch, job: int, kind: int, gpus: int) -> bool:
    """Whether quotas allow the job, and note per node whether its watts would be left."""
    if not allowed(problem, room, job, kind, gpus):
        return False
    for node in range(len(room.most_w)):
        room.most_w[node] = room.watts[1] - gpus * budget_w(problem, job, kind, node)
    return True


def settle_all(
    problem: AndreasProblem, room: Scratch, order: I64, wants: I64, lent: int, alpha: float
) -> None:
    """Place the jobs of an order that have no place: best fit, the lowest number among equals.

    Each tries its wanted configuration, if any; then those in time; then the others. Columns are
    taken out of their tuples once, since that costs more than to look at a node.
    """
    first_config, meeting = problem.first_config, problem.meeting
    config_gpus, config_type, config_w = problem.config_gpus, problem.config_type, problem.config_w
    job_reach, job_cpus, job_mem_mib = problem.job_reach, problem.job_cpus, problem.job_mem_mib
    class_from, classes, class_first = problem.class_from, problem.classes, problem.class_first
    node_base_w, node_host_w = problem.node_base_w, problem.node_host_w
    sets, counts, free, busy = room.sets, room.counts, room.free, room.busy
    cpus, mem_mib, most_w = room.cpus, room.mem_mib, room.most_w
    config_of, node_of, drawn, state = room.config_of, room.node_of, room.drawn, room.state
    limited, exclusive = problem.limited, problem.exclusive
    types, watts = problem.job_budget_w.shape[1], 0.0
    for job in order:
        if config_of[job] >= 0:
            continue
        first, count = first_config[job], first_config[job + 1] - first_config[job]
        draws = alpha * count >= 1.5
        if draws:
            for i in range(count):
                drawn[i] = first + i
        for at in range(-1 if wants[job] >= 0 else 0, count):
            config = wants[job] if at < 0 else first + at
            if draws and at >= 0:
                pick(drawn, at, meeting[job] if at < meeting[job] else count, alpha, state)
                config = drawn[at]
            gpus, kind = config_gpus[config], config_type[config]
            if limited and not admit(problem, room, job, kind, gpus):
                continue
            need_cpus, need_mib = job_cpus[job] * gpus, job_mem_mib[job] * gpus
            within = (job_reach[job] * 2 + lent) * types + kind
            node, alike, was = -1, -1, gpus
            while node < 0 and was < counts.shape[1]:
                for index in range(class_from[within], class_from[within + 1]):
                    alike = classes[index]
                    if counts[alike, was] == 0:
                        continue
                    for word in range(sets.shape[2]):
                        low = class_first[alike] + word * 32
                        bits = sets[alike, was, word]
                        node = fitting(bits, low, cpus, mem_mib, need_cpus, need_mib, most_w)
                        if node >= 0:
                            break
                    if node >= 0:
                        break
                was += 1
            if node < 0:
                continue
            config_of[job], node_of[job] = config, node
            free[node] = 0 if exclusive else free[node] - gpus
            rebucket(sets, counts, alike, node - class_first[alike], was - 1, free[node])
            watts += config_w[config] + gpus * node_host_w[node]
            watts += node_base_w[node] if busy[node] == 0 else 0.0
            busy[node] += gpus
            cpus[node] -= need_cpus
            mem_mib[node] -= need_mib
            if limited:
                charge(problem, room, job, kind, node, gpus)
            break
    room.watts[0] += watts


def construct(
    problem: AndreasProblem, room: Scratch, order: I64, wants: I64, alpha: float
) -> float:
    """One schedule along an order, and its objective; homes are served before anything is lent."""
    reset(problem, room)
    for lent in range(2 if problem.lends else 1):
        settle_all(problem, room, order, wants, lent, alpha)
    return proxy(problem, room) if problem.proxy else cost(problem, room)


def construct_many(
    problem: AndreasProblem, room: Scratch, pressure_order: I64, how: How, elite: Elite
) -> float:
    """The pure greedy, then randomised ones; what is best stays in the elite."""
    order, wants = pressure_order.copy(), np.full(len(pressure_order), -1)
    best = np.inf
    for iteration in range(how.iterations):
        if iteration:
            if not how.walks_on:
                order[:] = pressure_order
            shuffle(order, problem.job_weight, how.bias, room.state)
        value = construct(problem, room, order, wants, how.alpha if iteration else 0.0)
        if value < best or iteration == 0:
            best = value
            elite.config_of[:] = room.config_of
            elite.node_of[:] = room.node_of
        worst = np.argmax(elite.value)
        if value < elite.value[worst] and not np.any(elite.value == value):
            elite.value[worst] = value
            elite.order[worst] = order
    return float(best)


def judge(problem: AndreasProblem, room: Scratch, orders: I64, wants: I64, values: F64) -> None:
    """The objectives of greedy schedules along many orders, with wanted configurations."""
    for i in range(len(orders)):
        values[i] = construct(problem, room, orders[i], wants[i], 0.0)


def resume(problem: AndreasProblem, room: Scratch, config_of: I64, node_of: I64) -> None:
    """Bring the room to where a schedule left it."""
    reset(problem, room)
    for job in range(len(config_of)):
        config = config_of[job]
        if config >= 0:
            gpus, kind = problem.config_gpus[config], problem.config_type[config]
            take(problem, room, job, kind, node_of[job], gpus, problem.config_w[config])
            room.config_of[job], room.node_of[job] = config, node_of[job]


def fits(problem: AndreasProblem, room: Scratch, job: int, kind: int, node: int, more: int) -> bool:
    """Whether a job may have more of the free GPUs of its node."""
    if room.cpus[node] < problem.job_cpus[job] * more:
        return False
    if room.mem_mib[node] < problem.job_mem_mib[job] * more:
        return False
    if not problem.limited:
        return True
    return allowed(problem, room, job, kind, more) and (
        more * budget_w(problem, job, kind, node) <= room.watts[1]
    )


def longest_gain(problem: AndreasProblem, room: Scratch, node: int) -> tuple[int, int]:
    """Which resident gains the most time by which wider configuration; -1 twice for none."""
    most_s, winner, wider = 0.0, -1, -1
    for job in range(len(room.node_of)):
        if room.node_of[job] != node:
            continue
        now = room.config_of[job]
        kind = problem.config_type[now]
        for config in range(problem.first_config[job], problem.first_config[job + 1]):
            more = problem.config_gpus[config] - problem.config_gpus[now]
            gain_s = problem.config_s[now] - problem.config_s[config]
            if problem.config_type[config] != kind or more <= 0 or gain_s <= most_s:
                continue
            if more <= room.free[node] and fits(problem, room, job, kind, node, more):
                most_s, winner, wider = gain_s, job, config
    return winner, wider


def grow(problem: AndreasProblem, room: Scratch) -> None:
    """Post-processing: idle GPUs of a node in use go to the resident that gains the most time."""
    for node in range(len(room.free)):
        while room.free[node] > 0 and room.busy[node] > 0:
            winner, wider = longest_gain(problem, room, node)
            if winner < 0:
                break
            now = room.config_of[winner]
            more = problem.config_gpus[wider] - problem.config_gpus[now]
            more_w = problem.config_w[wider] - problem.config_w[now]
            take(problem, room, winner, problem.config_type[now], node, more, more_w)
            room.config_of[winner] = wider
