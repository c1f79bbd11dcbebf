"""What an operator may set of the fairwatt policy."""

from typing import Annotated

from msgspec import Meta

from policies.bench.parameters import (
    PATIENCE_S,
    BlockPlacement,
    DefaultRunS,
    MaxPreemptions,
    MinRunS,
    PatienceS,
    StartClock,
)
from policies.contract.parameters import Finite


class FairwattParameters(Finite, frozen=True):
    """Money is in the currency of the cluster's tariff."""

    placement: BlockPlacement = "buddy"
    min_run_s: MinRunS = 60.0
    max_preemptions: MaxPreemptions = 256
    clock: StartClock = "max"
    patience_s: PatienceS = PATIENCE_S
    wait_price_per_h: Annotated[
        float,
        Meta(
            ge=0,
            le=1e6,
            description="What an hour until a job's end is worth, times its tenant's weight: the "
            "dial between cheap and fast.",
        ),
    ] = 0.1
    priority_step: Annotated[
        float,
        Meta(
            ge=0,
            le=1000,
            description="Steps of priority that double what a job's waiting is worth, compared "
            "with that of others; 0 ignores priorities.",
        ),
    ] = 25.0
    carbon_price_per_kg: Annotated[
        float, Meta(ge=0, le=1e6, description="Price of a kg of CO2, added to that of energy.")
    ] = 0.0
    assumed_price_per_kwh: Annotated[
        float, Meta(ge=0, le=1e6, description="Price of energy where no tariff says one.")
    ] = 0.15
    max_shift_s: Annotated[
        float,
        Meta(
            ge=0,
            le=30 * 86400,
            description="How long after its submission a job without a deadline may be kept back "
            "for cheaper energy while there is room for it.",
        ),
    ] = 86400.0
    slack: Annotated[
        float,
        Meta(
            ge=1,
            le=10,
            description="How many times its expected run time a job kept back must still have "
            "until its deadline.",
        ),
    ] = 1.5
    fairness: Annotated[
        float,
        Meta(
            ge=0,
            le=10,
            description="How fast a job gains weight once it is worse off than in an isolated "
            "share of the cluster; 0 is not at all.",
        ),
    ] = 1.0
    hysteresis: Annotated[
        float,
        Meta(
            ge=1,
            le=100,
            description="How many times its restart a change of a running job must save.",
        ),
    ] = 2.0
    resize: Annotated[
        bool, Meta(description="Whether running jobs may be given other GPUs or another count.")
    ] = True
    preempt: Annotated[
        bool, Meta(description="Whether running jobs may be stopped for others.")
    ] = True
    empty_nodes_off: Annotated[
        bool,
        Meta(description="Whether a node without work draws nothing, because the site stops it."),
    ] = False
    power_off: Annotated[
        bool,
        Meta(
            description="Whether nodes that nothing needs are switched off, where the cluster "
            "allows it and the site does not do so itself."
        ),
    ] = True
    default_run_s: DefaultRunS = 3600.0
    iterations: Annotated[
        int,
        Meta(ge=0, le=10_000, description="Most times that a round changes the rents of GPU time."),
    ] = 12
    promotions: Annotated[
        int,
        Meta(ge=0, le=10_000, description="Most jobs that a round tries to plan earlier in turn."),
    ] = 24
    evaluations: Annotated[
        int,
        Meta(
            ge=1,
            le=10**9,
            description="Most jobs placed in all these schedules together: what bounds a round "
            "with a long queue, whatever the machine.",
        ),
    ] = 20_000

    @property
    def switches(self) -> bool:
        """Whether plans switch nodes off."""
        return self.power_off and not self.empty_nodes_off
