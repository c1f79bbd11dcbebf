"""From accounting, machines and a tariff to the bills of every policy."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np

from policies.contract.policy import Policy
from policies.contract.snapshot import ProfileTable
from simulator.advice.faults import AdviceError
from simulator.advice.replay import Bill, Question, as_it_ran, bill, replayed
from simulator.advice.site import SiteMachines
from simulator.advice.tariff import SiteTariff, market_of, priced
from simulator.costs import Costs
from simulator.engine import Pace, Progress
from simulator.setting import Setting, unlimited_tenants
from simulator.traces.sacct import Accounting

AS_IT_RAN = "as it ran"
Showing = Callable[[str, int, float], AbstractContextManager[Progress]]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Terms:
    """What a site says beside its accounting, its machines and its tariff."""

    policies: Mapping[str, Policy]
    timezone: str
    currency: str
    pue: float
    host_w: tuple[float, float]
    restart_s: float | None
    round_s: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Advice:
    """`job_ids` and `tenants` are what the rows of the bills' jobs are called."""

    ran: Bill
    bills: Sequence[Bill]
    job_ids: Sequence[str]
    tenants: Sequence[str]
    period: str
    timezone: str
    currency: str
    tariff: str
    assumptions: Sequence[str]
    read: Sequence[str]


def advise(
    read: Accounting, site: SiteMachines, tariff: SiteTariff, terms: Terms, showing: Showing
) -> Advice:
    asked, said = question(read, site, tariff, terms)
    bills = []
    for label, policy in terms.policies.items():
        with showing(label, len(site.jobs), asked.setting.origin_s) as on_progress:
            bills.append(bill(asked, label, replayed(asked, policy, on_progress)))
    return Advice(
        ran=bill(asked, AS_IT_RAN, as_it_ran(asked)),
        bills=bills,
        job_ids=[read.jobs[row].id for row in site.kept.tolist()],
        tenants=read.trace.tenants,
        period=_period(asked.setting.origin_s, asked.until_s, terms.timezone),
        timezone=terms.timezone,
        currency=terms.currency or tariff.currency,
        tariff=tariff.name,
        assumptions=[*site.assumptions, *said],
        read=read.report.lines(),
    )


def question(
    read: Accounting, site: SiteMachines, tariff: SiteTariff, terms: Terms
) -> tuple[Question, list[str]]:
    """What is asked of every policy, and what was assumed for it."""
    jobs, started_s = site.jobs, read.started_s()[site.kept]
    origin_s, until_s = float(jobs.submitted_s[0]), float((started_s + jobs.work).max())
    price, said = priced(tariff, origin_s, until_s)
    kinds = len(site.machines.gpu_types)
    limit_s = read.limit_s()[site.kept]
    profiles = ProfileTable.none(kinds)
    stoppable = terms.restart_s is not None
    setting = Setting(
        jobs=jobs.but(preemptible=np.full(len(jobs), stoppable)),
        tenants=unlimited_tenants(len(read.trace.tenants), kinds),
        tenant_names=read.trace.tenants,
        machines=site.machines,
        believed_work=np.where(np.isnan(limit_s), jobs.work, np.maximum(limit_s, jobs.work)),
        profiles=profiles,
        believed_profiles=profiles,
        costs=Costs(restart_s=terms.restart_s or 0.0),
        origin_s=origin_s,
        pue=terms.pue,
        price=price,
        market_timezone=market_of(tariff),
        tariff=tariff.tariff,
    )
    asked = Question(
        setting=setting,
        started_s=started_s,
        kind=site.kind,
        error=site.error,
        tariff=tariff.tariff,
        until_s=until_s,
        pace=Pace(interval_s=terms.round_s, on_events=False, unchanged="queued"),
    )
    return asked, [*said, *_assumed(read, site, terms)]


def _assumed(read: Accounting, site: SiteMachines, terms: Terms) -> list[str]:
    limited = int((~np.isnan(read.limit_s()[site.kept])).sum())
    running = sum(read.jobs[row].running for row in site.kept.tolist())
    idle_w, peak_w = terms.host_w
    said = [
        f"Hosts draw {idle_w:g} W idle and {peak_w:g} W with all GPUs in use; PUE is {terms.pue:g}."
        if peak_w
        else f"Hosts are not counted, only GPUs; PUE is {terms.pue:g}.",
        "Machines stay on, and every job runs as long as it did, on the GPU type it had; "
        "partitions and Slurm's priorities are not kept to.",
        f"Policies know the time limit of {limited} of {len(site.jobs)} jobs, and of the others "
        "how long they ran.",
        "No job is stopped once it runs."
        if terms.restart_s is None
        else f"Jobs may be stopped, keep their work, and lose {terms.restart_s:g} s each time.",
        f"Policies plan every {terms.round_s:g} s.",
    ]
    if running:
        said.append(f"{running} jobs still ran when the file was written: they end there.")
    return said


def _period(from_s: float, to_s: float, timezone: str) -> str:
    zone = ZoneInfo(timezone)
    first, last = (
        f"{datetime.fromtimestamp(at_s, zone):%Y-%m-%d %H:%M}" for at_s in (from_s, to_s)
    )
    return f"{first} to {last} ({timezone})"


def refuse_empty(read: Accounting) -> None:
    """A file of which nothing can be used is answered with what was wrong with its lines."""
    if read.report.used:
        return
    first, *why = (line.strip() for line in read.report.lines())
    raise AdviceError(f"no job with GPUs can be used of {'; '.join([first, *why])}")
