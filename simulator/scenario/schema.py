"""The fields of a scenario file."""

import math
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from simulator.generate.draw import Arrivals

Positive = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0)]
Count = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, lt=1)]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file; unknown keys are refused."""


class Generate(Section, frozen=True):
    jobs: Count
    load: Positive
    arrivals: Arrivals = "poisson"
    model: str = "philly"
    tenants: Count = 1


class TraceSection(Section, frozen=True):
    """Either `format` and `path`, or `generate`.

    `starts_at` moves the first job there, so that a trace meets the prices of another year.
    """

    format: str = ""
    path: str = ""
    generate: Generate | None = None
    from_at: datetime | None = None
    days: Positive | None = None
    load: Positive | None = None
    busiest_partitions: Count | None = None
    starts_at: datetime | None = None
    jobs: Count | None = None


class Nodes(Section, frozen=True):
    count: Count
    gpus: Annotated[int, Meta(ge=1, le=64)]
    gpu_type: str = "GPU"
    cpus: Annotated[int, Meta(ge=0)] = 0
    mem_mib: Annotated[int, Meta(ge=0)] = 0
    per_rack: Annotated[int, Meta(ge=0)] = 0
    per_switch: Annotated[int, Meta(ge=0)] = 0
    host_idle_w: NotNegative = 0.0
    host_peak_w: NotNegative = 0.0


class ScenarioGpu(Section, frozen=True):
    name: str
    idle_w: NotNegative = 0.0
    max_w: NotNegative = 0.0
    mem_mib: Annotated[int, Meta(ge=0)] = 0


class ClusterSection(Section, frozen=True):
    """`nodes`, or `node_list`: a file in the form of openb's.

    Partitions are the trace's, each with nodes in proportion to the GPU time it asks for. With
    `power_off` policies may switch nodes off that have been empty for `min_idle_s`.
    """

    nodes: tuple[Nodes, ...] = ()
    node_list: str = ""
    gpus: tuple[ScenarioGpu, ...] = ()
    partitions: Literal["none", "static", "lending"] = "none"
    power_off: bool = False
    min_idle_s: NotNegative = 600.0


class Rounds(Section, frozen=True):
    interval_s: Positive | None = None
    on_events: bool = True
    days: Positive | None = None
    sample_s: Positive = 300.0
    check_plans: bool = False


class CostsSection(Section, frozen=True):
    """`spread_slowdown` is for gangs over nodes; nearer ones may have their own."""

    start_s: NotNegative = 0.0
    end_s: NotNegative = 0.0
    restart_s: NotNegative = 0.0
    checkpoint_s: NotNegative = 0.0
    saves_on_stop: bool = True
    checkpoint_every_s: Positive | None = None
    boot_s: NotNegative = 0.0
    spread_slowdown: Share = 0.0
    slowdown_in_switch: Share | None = None
    slowdown_in_rack: Share | None = None


class Estimates(Section, frozen=True):
    """What policies know of run times: all, nothing, or the truth times exp(normal(0, sigma))."""

    kind: Literal["exact", "none", "lognormal"] = "exact"
    sigma: NotNegative = 0.0


class Failures(Section, frozen=True):
    """Every node fails after exponential times, and is repaired after exponential times."""

    mtbf_hours: Positive
    repair_hours: Positive


class TariffPeriod(Section, frozen=True):
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    from_minute: int
    to_minute: int
    price_per_kwh: float
    name: str = ""
    demand_charge_per_kw: float | None = None


class EnergySection(Section, frozen=True):
    """One of `flat_price`, `price_csv` and `periods`, or no price at all.

    `timezone` is that of the periods, or of the day-ahead market whose prices the CSV has.

    Beside a constant power budget, one for every hour of the day (UTC), and an energy budget that
    renews itself every `energy_budget_hours`.
    """

    pue: Annotated[float, Meta(ge=1)] = 1.0
    power_budget_w: Positive = math.inf
    power_budget_by_hour_w: Annotated[tuple[Positive, ...], Meta(max_length=24)] = ()
    energy_budget_kwh: Positive = math.inf
    energy_budget_hours: Positive = 24.0
    flat_price: float | None = None
    price_csv: str = ""
    periods: tuple[TariffPeriod, ...] = ()
    timezone: str = "UTC"
    demand_charge_per_kw: NotNegative | None = None
    carbon_csv: str = ""


class PolicySection(Section, frozen=True):
    name: str
    label: str = ""
    parameters: dict[str, Any] = {}

    def title(self) -> str:
        return self.label or self.name


class Scenario(Section, frozen=True):
    trace: TraceSection
    cluster: ClusterSection
    policies: Annotated[tuple[PolicySection, ...], Meta(min_length=1)]
    name: str = ""
    seeds: Annotated[tuple[int, ...], Meta(min_length=1)] = (0,)
    rounds: Rounds = Rounds()
    costs: CostsSection = CostsSection()
    estimates: Estimates = Estimates()
    failures: Failures | None = None
    energy: EnergySection = EnergySection()
