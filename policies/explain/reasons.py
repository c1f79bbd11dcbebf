"""Why a job waits: a ranked ladder of reasons, the evidence, and what would start it sooner."""

from enum import IntEnum

import msgspec


class WaitReason(IntEnum):
    """Structural reasons first; of several that hold, a job is told the lowest."""

    NO_SUCH_GPU_TYPE = 10
    LARGER_THAN_PARTITION = 20
    DEPENDENCY = 30
    HELD = 40
    NODES_UNAVAILABLE = 45
    QUOTA = 50
    ENERGY_BUDGET = 60
    TOPOLOGY = 70
    PREEMPTED_WORK = 80
    POWER = 90
    TARIFF = 100
    OUTRANKED = 110


class Remedy(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change that would let the job start sooner, in words a program can act on."""

    action: str
    to: int | None = None
    by: float | None = None
    name: str | None = None
    id: int | None = None


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Shared by all jobs that wait for the same cause.

    `filtered` counts nodes the job may not use, by why; `exhausted` counts nodes it may use that
    lack room, by what they lack first; together they make up `nodes`, apart from nodes with room.
    """

    nodes: int = 0
    filtered: dict[str, int] = {}
    exhausted: dict[str, int] = {}
    facts: dict[str, float] = {}
    remedies: tuple[Remedy, ...] = ()


_SENTENCES = {
    WaitReason.NO_SUCH_GPU_TYPE: "No node it may use has a GPU type it allows.",
    WaitReason.LARGER_THAN_PARTITION: "It asks for more than the nodes it may use have when empty.",
    WaitReason.DEPENDENCY: "It waits for a job it depends on.",
    WaitReason.HELD: "It is held.",
    WaitReason.NODES_UNAVAILABLE: "Too few of the nodes it may use are ready.",
    WaitReason.QUOTA: "Its tenant would exceed its GPU quota.",
    WaitReason.ENERGY_BUDGET: "Its tenant has no energy budget left.",
    WaitReason.TOPOLOGY: "Enough GPUs are free, but not as close together as it needs them.",
    WaitReason.PREEMPTED_WORK: "It starts when the work stopped for it has given up its GPUs.",
    WaitReason.POWER: "Starting it would exceed the power budget, or needs a node that is off.",
    WaitReason.TARIFF: "It waits for cheaper energy.",
    WaitReason.OUTRANKED: "The GPUs it needs are held by, or kept for, other jobs.",
}

_REMEDIES = {
    "reduce_gpus": "ask for {to} GPUs",
    "reduce_cpus_per_gpu": "ask for {to} CPUs per GPU",
    "reduce_mem_mib_per_gpu": "ask for {to} MiB of memory per GPU",
    "allow_gpu_type": "allow GPU type {name}",
    "move_to_partition": "move it to partition {name}",
    "allow_preemption": "make it preemptible, so that it may borrow idle GPUs",
    "widen_span": "let its GPUs lie apart ({name})",
    "raise_quota": "raise the tenant's quota by {by:g} GPUs",
    "raise_quota_of_type": "raise the tenant's quota of {name} by {by:g} GPUs",
    "raise_both_quotas": "raise the tenant's quota by {by:g} GPUs and that of {name} by {to}",
    "raise_energy_budget": "raise the tenant's energy budget",
    "raise_power_budget": "raise the power budget by {by:g} W",
    "power_on_node": "switch on node {id}",
    "make_ready_node": "make node {id} ready",
    "finish_dependency": "finish or drop the job it depends on",
    "release_hold": "release the hold",
}

REMEDY_ACTIONS = frozenset(_REMEDIES)


def remedy_text(remedy: Remedy) -> str:
    fields = {"to": remedy.to, "by": remedy.by, "name": remedy.name, "id": remedy.id}
    return _REMEDIES[remedy.action].format(**fields)


def sentence(reason: WaitReason, evidence: Evidence, *, ahead: int = 0) -> str:
    """One line for people: why it waits, how many jobs rank before it, what would help."""
    text = _SENTENCES[reason]
    if reason is WaitReason.OUTRANKED and ahead:
        text += f" {ahead} {'job ranks' if ahead == 1 else 'jobs rank'} before it."
    if evidence.remedies:
        text += " To start it sooner: " + ", or ".join(map(remedy_text, evidence.remedies)) + "."
    return text
