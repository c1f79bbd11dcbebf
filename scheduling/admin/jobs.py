"""Jobs in the admin, with where they run, why they wait and what they cost."""

from collections import defaultdict
from typing import Any

from django.contrib import admin
from django.db.models import Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from energy.ledger.job_energy import job_energy
from energy.models import LedgerRow
from jobs.admin import jobs
from jobs.logs import logs
from jobs.models import Allocation, Job
from rest.quantities import kwh, money
from scheduling.explain import explain
from scheduling.waits import NOT_CONSIDERED, wait_texts
from tenancy.callers import Caller

LOGS_SHOWN = 20
_NOW = ("shown_state", "on_nodes", "why", "drawn", "printed")


@admin.register(Job)
class JobAdmin(jobs.JobAdmin):
    list_display = (
        "id",
        "name",
        "shown_state",
        "tenant",
        "gpus",
        "on_nodes",
        "reason_now",
        "cost",
        "cluster",
        "priority",
        "held",
        "submitted_at",
        "started_at",
        "ended_at",
    )
    readonly_fields = _NOW

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """What one comes for first, the columns after it."""
        hidden = {*_NOW, *self.exclude, "id"}
        columns = [c.name for c in self.opts.fields if c.name not in hidden]
        return [("Now", {"fields": _NOW}), ("As submitted, and since", {"fields": columns})]

    def get_object(self, request: HttpRequest, object_id: str, from_field: Any = None) -> Any:
        job = super().get_object(request, object_id, from_field)
        if job is not None:
            caller = self.caller(request)
            job.why, job.drawn, job.printed = _why(job), _drawn(caller, job), _printed(caller, job)
        return job

    def complete(self, rows: list[Any]) -> None:
        ids = [row.pk for row in rows]
        nodes, costs = _nodes(ids), _costs(ids)
        waits = wait_texts([row for row in rows if row.state == Job.State.QUEUED])
        for row in rows:
            row.nodes, row.costs, row.wait = nodes[row.pk], costs[row.pk], waits.get(row.pk)

    @admin.display(description="node")
    def on_nodes(self, job: Any) -> str:
        return ", ".join(job.nodes)

    @admin.display(description="reason", ordering="reason")
    def reason_now(self, job: Any) -> str:
        if job.state != Job.State.QUEUED:
            return str(job.reason).replace("_", " ")
        return job.wait.reason if job.wait else NOT_CONSIDERED

    @admin.display(description="cost")
    def cost(self, job: Any) -> str:
        return ", ".join(money(cost, currency) for currency, cost in job.costs)

    @admin.display(description="why")
    def why(self, job: Any) -> str:
        return str(job.why)

    @admin.display(description="energy and cost")
    def drawn(self, job: Any) -> str:
        return str(job.drawn)

    @admin.display(description="logs")
    def printed(self, job: Any) -> str:
        return str(job.printed)


def _why(job: Job) -> str:
    said = explain(job, now=timezone.now())
    advice = format_html_join("", "<li>{}</li>", ((r["text"],) for r in said.remedies))
    return format_html("{}<ul>{}</ul>", said.text, advice)


def _drawn(caller: Caller, job: Job) -> str:
    found = job_energy(caller, job)
    said = [
        f"{money(row['total_cost'], row['currency'])} for {row['total_kwh']:,.3f} kWh"
        for row in found.totals
    ]
    said.append(f"{kwh(found.open_mj)} not billed yet")
    expected = [a.predicted_gpu_mj for a in found.attempts if a.predicted_gpu_mj is not None]
    if expected:
        said.append(f"{kwh(sum(expected))} expected of its GPUs")
    return "; ".join(said)


def _printed(caller: Caller, job: Job) -> str:
    columns = ("pk", "stream", "number", "node_name", "size")
    found = logs(caller, job).values_list(*columns)[:LOGS_SHOWN]
    links = ((reverse("admin:jobs_log_change", args=[pk]), *said) for pk, *said in found)
    return format_html_join(", ", '<a href="{}">{} of attempt {} on {}</a> ({} bytes)', links)


def _nodes(job_ids: list[int]) -> dict[int, list[str]]:
    """Where the newest attempt of each job runs, or ran."""
    held = Allocation.objects.filter(attempt__job__in=job_ids)
    columns = ("attempt__job_id", "attempt__number", "node__name")
    found: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for job, number, node in held.values_list(*columns).distinct().order_by(*columns):
        found[job][number].append(node)
    newest = {job: tries[max(tries)] for job, tries in found.items()}
    return {job: newest.get(job, []) for job in job_ids}


def _costs(job_ids: list[int]) -> dict[int, list[tuple[str, Any]]]:
    """(currency, money) of each job, all its attempts together."""
    rows = LedgerRow.objects.filter(attempt__job__in=job_ids).order_by("currency")
    summed = rows.values_list("attempt__job_id", "currency").annotate(cost=Sum("cost"))
    found: dict[int, list[tuple[str, Any]]] = defaultdict(list)
    for job, currency, cost in summed:
        found[job].append((currency, cost))
    return found
