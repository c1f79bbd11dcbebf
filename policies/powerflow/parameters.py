"""Parameters of the elastic policies."""

from typing import Annotated, Literal

from msgspec import Meta

from policies.bench.ladder import ClockName
from policies.bench.parameters import BlockPlacement
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


class PowerFlowParameters(ElasticParameters, frozen=True):
    clock: Annotated[
        ClockName,
        Meta(
            description="chosen: by the marginal greedy. max: always the highest. efficient: the "
            "one of least joules per work."
        ),
    ] = "chosen"
    power_off: Annotated[
        bool, Meta(description="Whether nodes that nothing needs are switched off.")
    ] = True


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
