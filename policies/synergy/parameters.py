"""Parameters of the Synergy policy."""

from typing import Annotated, Literal

from msgspec import Meta

from policies.bench.parameters import PATIENCE_S, MaxPreemptions, MinRunS, PatienceS
from policies.contract.parameters import Finite

PackingName = Literal["proportional", "greedy", "tune", "opt"]
SynergyOrdering = Literal["fifo", "srtf", "las", "ftf"]


class SynergyParameters(Finite, frozen=True):
    ordering: Annotated[
        SynergyOrdering,
        Meta(
            description="Who gets GPUs first. fifo: first come. srtf: shortest remaining time. "
            "las: least attained service, in queues. ftf: who suffers most from sharing."
        ),
    ] = "fifo"
    packing: Annotated[
        PackingName,
        Meta(
            description="How CPUs and memory are given. proportional: by GPUs. greedy: what each "
            "job wants, or it waits. tune: what it wants, else its proportional share, taking back "
            "what others have beyond theirs. opt: tune, towards the shares of the best total speed "
            "were the cluster one server; no program assigns jobs to servers."
        ),
    ] = "tune"
    preempt: Annotated[
        bool,
        Meta(description="Whether running jobs are stopped that the order has no room for."),
    ] = True
    min_run_s: MinRunS = 300.0
    max_preemptions: MaxPreemptions = 256
    migration: Annotated[
        bool,
        Meta(
            description="Whether two running jobs change places when one runs faster by it and the "
            "other no slower."
        ),
    ] = False
    patience_s: PatienceS = PATIENCE_S
