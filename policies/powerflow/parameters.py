"""Parameters of the elastic policies."""

import math
from typing import Annotated, Literal

from msgspec import Meta

from policies.bench.ladder import ClockName
from policies.bench.parameters import PATIENCE_S, BlockPlacement, PatienceS
from policies.contract.parameters import Finite


class ElasticParameters(Finite, frozen=True):
    """What policies that choose GPU counts understand."""

    placement: BlockPlacement = "buddy"
    min_run_s: Annotated[
        float,
        Meta(
            ge=0,
            le=7 * 86400,
            description="Seconds a started or resized job is safe from being changed again.",
        ),
    ] = 60.0
    preempt: Annotated[
        bool, Meta(description="Whether a job may stop running jobs that take longer than it.")
    ] = True
    patience_s: PatienceS = PATIENCE_S

    @property
    def mean_w(self) -> float:
        """Watts, PUE included, that the joules of an energy budget allow at any time."""
        return math.inf


class PowerFlowParameters(ElasticParameters, frozen=True):
    clock: Annotated[
        ClockName,
        Meta(
            description="chosen: by the marginal greedy. max: always the highest. efficient: the "
            "one of least joules per work, hosts included."
        ),
    ] = "chosen"
    power_off: Annotated[
        bool,
        Meta(
            description="Whether nodes that nothing needs are switched off, where the cluster "
            "allows it."
        ),
    ] = True
    energy_budget_j: Annotated[
        float,
        Meta(
            ge=0,
            le=1e18,
            description="Joules, PUE included, that the cluster may use in every stretch of "
            "`energy_horizon_s`; 0 is no such budget.",
        ),
    ] = 0.0
    energy_horizon_s: Annotated[
        float,
        Meta(
            ge=60,
            le=366 * 86400,
            description="Seconds in which `energy_budget_j` may be used.",
        ),
    ] = 86400.0

    @property
    def mean_w(self) -> float:
        return self.energy_budget_j / self.energy_horizon_s if self.energy_budget_j else math.inf

    @property
    def counts_hosts(self) -> bool:
        """Whether a job's energy is that of its part of the hosts, too."""
        return True


class AfsParameters(ElasticParameters, frozen=True):
    clock: Annotated[
        Literal["max", "efficient"],
        Meta(
            description="Clock of jobs: the highest, or the one of least joules per work by the "
            "job's profile."
        ),
    ] = "max"

    @property
    def power_off(self) -> bool:
        return False

    @property
    def counts_hosts(self) -> bool:
        return False
