"""Parameters of the classic policies: each struct is the rules of the policy that takes it."""

import math
from typing import Annotated

from msgspec import Meta

from policies.bench.orderings import QUEUE_GPU_S
from policies.bench.parameters import (
    PATIENCE_S,
    DefaultRunS,
    MaxPreemptions,
    MinRunS,
    PatienceS,
    Placement,
    StartClock,
)
from policies.contract.parameters import Finite

Strict = Annotated[
    bool, Meta(description="Whether a job that does not fit holds back the jobs behind it.")
]
Preempts = Annotated[
    bool, Meta(description="Whether a job may stop running jobs that rank after it.")
]


class ClassicParameters(Finite, frozen=True):
    """What every classic policy understands; a rule that none may set is a property."""

    placement: Placement = "pack"
    min_run_s: MinRunS = 60.0
    max_preemptions: MaxPreemptions = 256
    clock: StartClock = "max"
    patience_s: PatienceS = PATIENCE_S

    @property
    def strict(self) -> bool:
        return False

    @property
    def preempt(self) -> bool:
        return False

    @property
    def migration(self) -> bool:
        return False

    @property
    def reservations(self) -> int:
        return 0

    @property
    def default_run_s(self) -> float:
        return 0.0

    @property
    def safe_s(self) -> float:
        """How long a started job is safe from being stopped."""
        return self.min_run_s


class QueueParameters(ClassicParameters, frozen=True):
    strict: Strict = False
    preempt: Preempts = False
    migration: Annotated[
        bool,
        Meta(
            description="Whether running jobs are moved together when the first job that does not "
            "fit would fit a node, were the free GPUs in one place."
        ),
    ] = False


class FifoParameters(QueueParameters, frozen=True):
    strict: Strict = True


class PreemptiveParameters(QueueParameters, frozen=True):
    preempt: Preempts = True


class PriorityParameters(QueueParameters, frozen=True):
    ageing_s: Annotated[
        float,
        Meta(ge=0, description="Seconds of waiting worth one step of priority; 0 is no ageing."),
    ] = 3600.0


class LasParameters(PreemptiveParameters, frozen=True):
    queue_gpu_s: Annotated[
        tuple[Annotated[float, Meta(gt=0)], ...],
        Meta(
            min_length=1,
            max_length=16,
            description="Attained GPU-seconds at which a job sinks into the next queue, rising.",
        ),
    ] = QUEUE_GPU_S

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(map(math.isfinite, self.queue_gpu_s)):
            raise ValueError("Expected finite numbers - at `$.queue_gpu_s`")
        if list(self.queue_gpu_s) != sorted(set(self.queue_gpu_s)):
            raise ValueError("Expected rising thresholds - at `$.queue_gpu_s`")


class SliceParameters(ClassicParameters, frozen=True):
    slice_s: Annotated[
        float,
        Meta(ge=1, le=7 * 86400, description="Seconds a job keeps its GPUs while others wait."),
    ] = 1800.0
    migration: Annotated[
        bool,
        Meta(description="Whether running jobs are moved together to make room on one node."),
    ] = True

    @property
    def preempt(self) -> bool:
        return True

    @property
    def safe_s(self) -> float:
        return max(self.min_run_s, self.slice_s)


class BackfillParameters(ClassicParameters, frozen=True):
    default_run_s: DefaultRunS = 86400.0

    @property
    def reservations(self) -> int:
        return 1


class ConservativeParameters(BackfillParameters, frozen=True):
    reservations: Annotated[
        int,
        Meta(ge=1, le=1000, description="How many waiting jobs of a partition get a reservation."),
    ] = 100
