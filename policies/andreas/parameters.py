"""Parameters of the ANDREAS policy and of the first-principle methods it is compared with."""

import math
from typing import Annotated, Literal

from msgspec import Meta

from policies.bench.parameters import PATIENCE_S, DefaultRunS, PatienceS
from policies.contract.parameters import Finite

# Priorities 1 to 5 in money per second of tardiness, as in the published experiments.
PRIORITY_WEIGHTS = (0.00025371, 0.00030128, 0.00034885, 0.00039642, 0.00044399)
PRICE_PER_KWH = 0.17168313

EnergyName = Literal["billed", "node"]
ObjectiveName = Literal["cost", "proxy"]
OrderName = Literal["fifo", "edf", "ps"]


Share = Annotated[float, Meta(ge=0, le=1)]
Duration = Annotated[float, Meta(ge=0, le=7 * 86400)]


class CostParameters(Finite, frozen=True):
    """How work and lateness are priced."""

    energy: Annotated[
        EnergyName,
        Meta(
            description="billed: GPUs and their share of the host's peak, as the ledger bills them."
            " node: the whole node while anything runs on it, and nothing while it is empty."
        ),
    ] = "billed"
    priority_weights: Annotated[
        tuple[Annotated[float, Meta(ge=0)], ...],
        Meta(
            min_length=1,
            max_length=100,
            description="Money per second of tardiness by priority, from 1 on, for jobs that name "
            "no price of their own; lower and higher priorities take the first and the last.",
        ),
    ] = PRIORITY_WEIGHTS
    default_run_s: DefaultRunS = 86400.0
    default_price_per_kwh: Annotated[
        float, Meta(ge=0, description="Price of energy while no tariff tells it.")
    ] = PRICE_PER_KWH
    patience_s: PatienceS = PATIENCE_S

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(map(math.isfinite, self.priority_weights)):
            raise ValueError("Expected finite numbers - at `$.priority_weights`")

    @property
    def rho(self) -> float:
        """How much worse a postponed job's tardiness counts."""
        return 0.0

    @property
    def exclusive(self) -> bool:
        """Whether a node is one job's alone."""
        return False

    @property
    def by_proxy(self) -> bool:
        """Whether schedules are judged by the follow-ups' measure instead of their cost."""
        return False


class AndreasParameters(CostParameters, frozen=True):
    iterations: Annotated[
        int, Meta(ge=1, le=100_000, description="Constructions, the pure greedy among them.")
    ] = 1000
    alpha: Annotated[
        Share,
        Meta(description="Share of a list of configurations, best first, to draw from at random."),
    ] = 0.05
    swap_bias: Annotated[
        float,
        Meta(
            ge=-0.5,
            le=0.5,
            description="How much above one half is the chance that a neighbour of larger "
            "tardiness price is swapped forward; negative favours the smaller.",
        ),
    ] = 0.05
    walks_on: Annotated[
        bool, Meta(description="Whether each construction swaps on from the last one's order.")
    ] = False
    objective: Annotated[
        ObjectiveName,
        Meta(
            description="cost: energy and tardiness up to the first finish, plus the postponed. "
            "proxy: slowest time over cost to the end, summed over the scheduled."
        ),
    ] = "cost"
    rho: Annotated[
        float, Meta(ge=0, le=1e6, description="How much worse a postponed job's tardiness counts.")
    ] = 100.0
    post_process: Annotated[
        bool,
        Meta(
            description="Whether idle GPUs of nodes in use go to residents that gain by them; only "
            "where running jobs may be changed."
        ),
    ] = True
    local_search: Annotated[
        int, Meta(ge=0, le=10_000, description="Steps of local search from the best schedule.")
    ] = 0
    path_relinking: Annotated[
        int,
        Meta(ge=0, le=32, description="Best schedules between which paths are searched; 0 is off."),
    ] = 0
    changes_running: Annotated[
        bool, Meta(description="Whether running jobs may be stopped, moved and resized.")
    ] = True
    switch_gain: Annotated[
        Share,
        Meta(
            description="Share of the objective that changing running jobs must save against "
            "leaving them alone; with 0, where changes are free, the best found is always taken."
        ),
    ] = 0.05
    min_run_s: Annotated[Duration, Meta(description="Seconds a started job is left alone.")] = 60.0
    analyzer: Annotated[
        bool, Meta(description="Whether moves are saved where another node would do just as well.")
    ] = True
    most_deferral_s: Annotated[
        Duration,
        Meta(description="How long a job with a due date may be put off for cheaper energy."),
    ] = 43_200.0
    deferral_gain: Annotated[
        Share, Meta(description="Share of its cost that putting a job off must save.")
    ] = 0.05

    @property
    def by_proxy(self) -> bool:
        return self.objective == "proxy"


class FirstPrincipleParameters(CostParameters, frozen=True):
    order: Annotated[
        OrderName,
        Meta(description="fifo: by submission. edf: by due date. ps: by tardiness price."),
    ] = "fifo"
    exclusive: Annotated[
        bool, Meta(description="Whether a node is one job's alone; otherwise best fit.")
    ] = False
