"""One scheduling point as plain arrays: what the kernel reads, and the scratch it writes.

Jobs, nodes and configurations are numbered within the problem; `NodeMap` and the job rows lead
back to the snapshot. A class is a set of nodes that differ in nothing but their number.
"""

from typing import NamedTuple

import numpy as np

from policies.contract.columns import F64, I64

WORD_BITS = 32
"""Nodes per word of a set: products of two such words stay within an int64."""


class AndreasProblem(NamedTuple):
    """Times are seconds from now; `job_slack_s` is the time to the due date, inf without one."""

    job_weight: F64
    job_slack_s: F64
    job_slowest_s: F64
    job_penalty: F64
    job_tenant: I64
    job_reach: I64
    job_cpus: I64
    job_mem_mib: I64
    job_budget_w: F64
    """Over (job, GPU type): watts that one GPU adds to the power budget, without its host."""

    first_config: I64
    """Job j has the configurations first_config[j]:first_config[j + 1], in the order of drawing."""
    meeting: I64
    """So many of them, the first, meet the due date."""
    config_type: I64
    config_gpus: I64
    config_s: F64
    config_w: F64

    class_from: I64
    """Rows of `classes` over (reach, own or lent, GPU type), flattened."""
    classes: I64
    class_first: I64
    node_class: I64
    node_free: I64
    node_busy: I64
    node_cpus: I64
    node_mem_mib: I64
    node_base_w: F64
    """Watts of a node in use beyond its GPUs' own; 0 where an empty node draws them too."""
    node_host_w: F64
    node_budget_w: F64

    quota: I64
    quota_by_type: I64
    used: I64
    used_by_type: I64
    watts_left: float

    fixed_weight: F64
    fixed_slack_s: F64
    fixed_first_s: float
    """When the first of the jobs that stay where they are ends; inf without any."""
    fixed_w: float

    price_at_s: F64
    price: F64
    """Money per watt and second, PUE included, from price_at_s[i] on."""
    price_area: F64

    limited: bool
    """Whether quotas or a power budget bind anybody."""
    exclusive: bool
    lends: bool
    proxy: bool


class Scratch(NamedTuple):
    """What is left while a schedule is built."""

    free: I64
    busy: I64
    cpus: I64
    mem_mib: I64
    sets: I64
    """Nodes by (class, free GPUs) as words of bits, with how many there are in `counts`."""
    counts: I64
    first_sets: I64
    first_counts: I64
    used: I64
    used_by_type: I64
    watts: F64
    """Drawn by the schedule, and left of the power budget."""
    most_w: F64
    """Per node what would be left of the power budget; below 0 it is out of reach."""
    config_of: I64
    node_of: I64
    """The schedule: per job its configuration and node, -1 while it is postponed."""
    drawn: I64
    state: I64
    """Of the generator of random numbers; never 0."""

    @classmethod
    def of(cls, problem: AndreasProblem, state: int = 1) -> "Scratch":
        classes, most = len(problem.class_first), int(problem.node_free.max(initial=0))
        place = np.arange(len(problem.node_class)) - problem.class_first[problem.node_class]
        words = int(place.max(initial=0)) // WORD_BITS + 1
        sets = np.zeros((classes, most + 1, words), np.int64)
        counts = np.zeros((classes, most + 1), np.int64)
        where = (problem.node_class, problem.node_free)
        np.bitwise_or.at(sets, (*where, place // WORD_BITS), 1 << (place % WORD_BITS))
        np.add.at(counts, where, 1)
        return cls(
            problem.node_free.copy(),
            problem.node_busy.copy(),
            problem.node_cpus.copy(),
            problem.node_mem_mib.copy(),
            sets.copy(),
            counts.copy(),
            sets,
            counts,
            problem.used.copy(),
            problem.used_by_type.copy(),
            np.zeros(2),
            np.zeros(len(problem.node_class)),
            np.full(len(problem.job_weight), -1),
            np.full(len(problem.job_weight), -1),
            np.zeros(max(len(problem.config_s), 1), np.int64),
            np.array([state]),
        )


class How(NamedTuple):
    """How constructions are randomised."""

    iterations: int
    alpha: float
    bias: float
    walks_on: bool


class Elite(NamedTuple):
    """The best orders of different value, and the one best schedule."""

    value: F64
    order: I64
    config_of: I64
    node_of: I64
