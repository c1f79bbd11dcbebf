"""Schedules built and judged, by the thousand: plain Python that `compiled` turns to machine code.

Whole numbers stay within 63 bits and only array operations that numba knows are used, so that
both readings of this file give the same numbers. Callees stand above their callers.
"""

import numpy as np

from policies.andreas.problem import Elite, How, Problem, Room
from policies.columns import F64, I64

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


def price_area(problem: Problem, seconds: float) -> float:
    """What one watt costs from now for so many seconds."""
    at = len(problem.price_at_s) - 1
    while problem.price_at_s[at] > seconds:
        at -= 1
    return float(problem.price_area[at] + problem.price[at] * (seconds - problem.price_at_s[at]))


def reset(problem: Problem, room: Room) -> None:
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


def allowed(problem: Problem, room: Room, job: int, kind: int, gpus: int) -> bool:
    """Whether the tenant's quotas leave room for so many more GPUs of a type."""
    tenant = problem.job_tenant[job]
    quota, by_type = problem.quota[tenant], problem.quota_by_type[tenant, kind]
    return not (
        (quota >= 0 and room.used[tenant] + gpus > quota)
        or (by_type >= 0 and room.used_by_type[tenant, kind] + gpus > by_type)
    )


def fits(problem: Problem, room: Room, job: int, kind: int, node: int, gpus: int) -> bool:
    """Whether a node with free GPUs has the CPUs and memory, and the budget the watts."""
    if room.cpus[node] < problem.job_cpus[job] * gpus:
        return False
    if room.mem_mib[node] < problem.job_mem_mib[job] * gpus:
        return False
    if not problem.limited:
        return True
    watts = gpus * (problem.job_budget_w[job, kind] + problem.node_budget_w[node])
    return bool(watts <= room.watts[1])


def find_node(problem: Problem, room: Room, job: int, config: int, lent: int) -> int:
    """Best fit: the fewest free GPUs that suffice, then the lowest number; -1 for none."""
    gpus, kind = problem.config_gpus[config], problem.config_type[config]
    if problem.limited and not allowed(problem, room, job, kind, gpus):
        return -1
    types = problem.job_budget_w.shape[1]
    at = (problem.job_reach[job] * 2 + lent) * types + kind
    for free in range(gpus, room.sets.shape[1]):
        for index in range(problem.class_from[at], problem.class_from[at + 1]):
            alike = problem.classes[index]
            if room.counts[alike, free] == 0:
                continue
            for word in range(room.sets.shape[2]):
                bits = room.sets[alike, free, word]
                while bits:
                    low = bits & -bits
                    number = BIT_NUMBER[((low * DE_BRUIJN) & LOW32) >> 27]
                    node = problem.class_first[alike] + word * 32 + number
                    if fits(problem, room, job, kind, node, gpus):
                        return int(node)
                    bits ^= low
    return -1


def take(
    problem: Problem, room: Room, job: int, kind: int, node: int, gpus: int, gpu_w: float
) -> None:
    """Give so many GPUs of a node to a job, whose GPUs draw `gpu_w` there."""
    alike, was = problem.node_class[node], room.free[node]
    free = 0 if problem.exclusive else was - gpus
    place = node - problem.class_first[alike]
    word, bit = place // 32, 1 << (place % 32)
    room.sets[alike, was, word] ^= bit
    room.counts[alike, was] -= 1
    room.sets[alike, free, word] ^= bit
    room.counts[alike, free] += 1
    room.free[node] = free
    if room.busy[node] == 0:
        room.watts[0] += problem.node_base_w[node]
    room.busy[node] += gpus
    room.watts[0] += gpu_w + gpus * problem.node_host_w[node]
    room.cpus[node] -= problem.job_cpus[job] * gpus
    room.mem_mib[node] -= problem.job_mem_mib[job] * gpus
    if problem.limited:
        tenant = problem.job_tenant[job]
        room.used[tenant] += gpus
        room.used_by_type[tenant, kind] += gpus
        room.watts[1] -= gpus * (problem.job_budget_w[job, kind] + problem.node_budget_w[node])


def settle(problem: Problem, room: Room, job: int, config: int, lent: int) -> bool:
    """Put a job into a configuration if a node is there for it."""
    node = find_node(problem, room, job, config, lent)
    if node < 0:
        return False
    gpus, kind = problem.config_gpus[config], problem.config_type[config]
    take(problem, room, job, kind, node, gpus, problem.config_w[config])
    room.config_of[job], room.node_of[job] = config, node
    return True


def settle_from(
    problem: Problem, room: Room, job: int, first: int, last: int, lent: int, alpha: float
) -> bool:
    """Draw from a list of configurations, dropping those without a node, until one has one."""
    length = last - first
    if int(alpha * length + 0.5) <= 1:
        for config in range(first, last):  # noqa: SIM110  # any() of a generator does not compile
            if settle(problem, room, job, config, lent):
                return True
        return False
    for i in range(length):
        room.drawn[i] = first + i
    while length:
        width = max(int(alpha * length + 0.5), 1)
        pick = int(draw(room.state) * width) if width > 1 else 0
        if settle(problem, room, job, room.drawn[pick], lent):
            return True
        length -= 1
        for i in range(pick, length):
            room.drawn[i] = room.drawn[i + 1]
    return False


def settle_job(problem: Problem, room: Room, job: int, want: int, lent: int, alpha: float) -> bool:
    """The wanted configuration, if any; then those in time, then the others."""
    if want >= 0 and settle(problem, room, job, want, lent):
        return True
    first, last = problem.first_config[job], problem.first_config[job + 1]
    middle = first + problem.meeting[job]
    return settle_from(problem, room, job, first, middle, lent, alpha) or settle_from(
        problem, room, job, middle, last, lent, alpha
    )


def cost(problem: Problem, room: Room) -> float:
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


def proxy(problem: Problem, room: Room) -> float:
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


def construct(problem: Problem, room: Room, order: I64, wants: I64, alpha: float) -> float:
    """One schedule along an order, and its objective; homes are served before anything is lent."""
    reset(problem, room)
    for lent in range(2 if problem.lends else 1):
        for job in order:
            if room.config_of[job] < 0:
                settle_job(problem, room, job, wants[job], lent, alpha)
    return proxy(problem, room) if problem.proxy else cost(problem, room)


def construct_many(
    problem: Problem, room: Room, pressure_order: I64, how: How, elite: Elite
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


def judge(problem: Problem, room: Room, orders: I64, wants: I64, values: F64) -> None:
    """The objectives of greedy schedules along many orders, with wanted configurations."""
    for i in range(len(orders)):
        values[i] = construct(problem, room, orders[i], wants[i], 0.0)


def resume(problem: Problem, room: Room, config_of: I64, node_of: I64) -> None:
    """Bring the room to where a schedule left it."""
    reset(problem, room)
    for job in range(len(config_of)):
        config = config_of[job]
        if config >= 0:
            gpus, kind = problem.config_gpus[config], problem.config_type[config]
            take(problem, room, job, kind, node_of[job], gpus, problem.config_w[config])
            room.config_of[job], room.node_of[job] = config, node_of[job]


def longest_gain(problem: Problem, room: Room, node: int) -> tuple[int, int]:
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
            if more > room.free[node] or (
                problem.limited and not allowed(problem, room, job, kind, more)
            ):
                continue
            if fits(problem, room, job, kind, node, more):
                most_s, winner, wider = gain_s, job, config
    return winner, wider


def grow(problem: Problem, room: Room) -> None:
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
