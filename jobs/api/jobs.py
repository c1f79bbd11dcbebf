"""Jobs over HTTP: submit, look, change, cancel, hold, release."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import action
from rest_framework.request import Request

from clusters.models import Cluster
from jobs import selectors, services
from jobs.api import structs
from jobs.api.filters import LabelFilter, NamedFilter, ProfileFilter
from jobs.models import Job
from jobs.services import ItemResult
from jobs.specs import JobPatch, JobsBulk, JobSpec
from rest.filters import (
    ChoiceFilter,
    InstantFilter,
    IntegerFilter,
    ListFilter,
    TextFilter,
    filtered,
)
from rest.problems import Contradiction, Fault, Problem
from rest.structs import show
from rest.views import Answer, CreateMixin, ListMixin, RetrieveMixin, UpdateMixin
from tenancy.models import Tenant


class JobViewSet(ListMixin, RetrieveMixin, CreateMixin, UpdateMixin):
    """What tenants want run. Names refer to clusters, partitions, profiles and tenants."""

    resource = "jobs"
    rights = {
        "list": "jobs.read",
        "retrieve": "jobs.read",
        "create": "jobs.submit",
        "bulk": "jobs.submit",
        "partial_update": "jobs.write",
        "cancel": "jobs.cancel",
        "cancel_many": "jobs.cancel",
        "hold": "jobs.hold",
        "release": "jobs.hold",
    }
    output = structs.JobOut
    outputs = {
        "create": structs.JobMadeOut,
        "retrieve": structs.JobDetailOut,
        "bulk": structs.BulkOut,
        "cancel_many": structs.CancelledOut,
    }
    inputs = {"create": JobSpec, "bulk": JobsBulk, "partial_update": JobPatch}
    filters = {
        "tenant": NamedFilter(Tenant, "tenant"),
        "cluster": NamedFilter(Cluster, "cluster"),
        "ids": ListFilter(IntegerFilter("id"), help_text="Jobs by id, with commas between."),
        "state": ListFilter(
            ChoiceFilter(Job.State), help_text="One state, or several with commas between."
        ),
        "name": TextFilter(),
        "array": IntegerFilter(),
        "profile": ProfileFilter(),
        "label": LabelFilter("labels"),
        "priority": IntegerFilter(),
        "submitted_after": InstantFilter("submitted_at", "gte"),
        "submitted_before": InstantFilter("submitted_at", "lt"),
    }
    query_parameters = {"cancel_many": filters}
    ordering_fields = ("id", "submitted_at", "priority")
    etag_prefix = "job"
    summaries = {"create": "Submit a job"}

    def rows(self) -> QuerySet[Job]:
        return selectors.jobs(self.caller)

    def members(self, row: Job) -> Mapping[str, Any]:
        owns = row.tenant_id == self.caller.tenant_id
        env_keys = row.env_names if owns else None
        if self.action == "retrieve":
            return {"env_keys": env_keys, "depends_on": selectors.dependencies(row)}
        return {"env_keys": env_keys}

    def perform_create(self, values: JobSpec) -> Job:
        return services.job_submit(caller=self.caller, spec=values, now=timezone.now())

    def perform_update(self, row: Job, changes: Mapping[str, Any]) -> Job:
        return services.job_update(caller=self.caller, job=row, changes=changes, now=timezone.now())

    @action(detail=False, methods=["post"])
    def bulk(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Submit up to 10,000 jobs at once. The good ones are stored, the others are explained."""
        sent: JobsBulk = self.input()

        def effect() -> Answer:
            now = timezone.now()
            results = services.jobs_submit_bulk(caller=self.caller, items=sent.jobs, now=now)
            return Answer(_bulk_out(results))

        return self.write(effect)

    @action(detail=False, methods=["post"], url_path="cancel")
    def cancel_many(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Cancel every job that the list would show with the same filters; at least one is needed.

        Those that agents run are asked to stop, and are cancelled when they have.
        """
        if not request.query_params:
            detail = "Say which jobs, with the filters of the list; `?array=7` for one array's."
            raise Contradiction(detail, code="filter_missing")
        rows = filtered(self.rows(), request, self.list_filters())

        def effect() -> Answer:
            done = services.jobs_cancel(
                caller=self.caller, rows=rows, asked=request.query_params.dict(), now=timezone.now()
            )
            return Answer(show(structs.CancelledOut, done))

        return self.write(effect)

    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Cancel a job. One that an agent runs is asked to stop, and cancelled when it has."""
        return self._acted(services.job_cancel, now=timezone.now())

    @action(detail=True, methods=["post"])
    def hold(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Keep a queued job from starting."""
        return self._acted(services.job_hold)

    @action(detail=True, methods=["post"])
    def release(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Let a held job start again."""
        return self._acted(services.job_release)

    def _acted(self, service: Any, **values: Any) -> HttpResponse:
        job_id = int(self.kwargs["id"])
        return self.write(lambda: self.answer(service(caller=self.caller, job_id=job_id, **values)))


def _bulk_out(results: Sequence[ItemResult]) -> structs.BulkOut:
    items = [
        structs.ItemResultOut(result.index, 201, result.id, None, _shown(result.warnings))
        if result.problem is None
        else _refused(result.index, result.problem)
        for result in results
    ]
    stored = sum(result.problem is None for result in results)
    return structs.BulkOut(stored, len(results) - stored, items)


def _refused(index: int, problem: Problem) -> structs.ItemResultOut:
    said = structs.ItemProblemOut(problem.code, problem.text, _shown(problem.errors))
    return structs.ItemResultOut(index, problem.status_code, None, said, [])


def _shown(faults: Sequence[Fault]) -> list[structs.FaultOut]:
    return [show(structs.FaultOut, fault) for fault in faults]
