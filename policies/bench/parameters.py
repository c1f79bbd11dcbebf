"""Parameters that several families understand alike."""

from typing import Annotated, Literal

from msgspec import Meta

from policies.bench.placement import PlacementName

Placement = Annotated[
    PlacementName,
    Meta(
        description="pack: fullest node that fits. spread: emptiest node. consolidate: pack, "
        "and gangs within a rack, then a switch. buddy: aligned power-of-two blocks. "
        "random: any node that fits."
    ),
]
BlockPlacement = Annotated[
    PlacementName,
    Meta(
        description="buddy: aligned power-of-two blocks, whole nodes near each other beyond "
        "one. The others as in the classic policies."
    ),
]
MinRunS = Annotated[
    float, Meta(ge=0, le=7 * 86400, description="Seconds a started job is safe from preemption.")
]
MaxPreemptions = Annotated[
    int, Meta(ge=0, le=100_000, description="Most jobs that one round may stop.")
]
StartClock = Annotated[
    Literal["max", "efficient"],
    Meta(
        description="Clock of started jobs: the highest, or the one of least joules per work "
        "by the job's profile."
    ),
]
DefaultRunS = Annotated[
    float, Meta(gt=0, le=365 * 86400, description="Run time assumed of a job without an estimate.")
]
PatienceS = Annotated[
    float,
    Meta(
        ge=0,
        le=365 * 86400,
        description="Seconds after which a job that waits for room, and for nothing else, gets "
        "nodes on which no other job starts.",
    ),
]
PATIENCE_S = 600.0
