"""Jobs over HTTP: submit, look, change, cancel, hold, release."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import action
from rest_framework.request import Request

from jobs import selectors, services
from jobs.api import examples, filters, serializers, structs
from jobs.models import Job
from jobs.services import ItemResult
from rest.problems import Problem
from rest.views import Answer, CreateMixin, ListMixin, RetrieveMixin, UpdateMixin


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
        "hold": "jobs.hold",
        "release": "jobs.hold",
    }
    output = serializers.JobOut
    outputs = {
        "retrieve": serializers.JobDetailOut,
        "bulk": serializers.BulkOut,
    }
    inputs = {
        "create": structs.JobSubmit,
        "bulk": structs.JobsBulkSubmit,
        "partial_update": structs.JobPatch,
    }
    examples = examples.JOBS
    filterset_class = filters.JobFilters
    ordering_fields = ("id", "submitted_at", "priority")
    etag_prefix = "job"

    def rows(self) -> QuerySet[Job]:
        return selectors.jobs(self.caller)

    def shown(self, row: Any) -> Any:
        owns = row.tenant_id == self.caller.tenant_id
        row.env_keys = sorted(row.env) if owns else None
        if self.action == "retrieve":
            row.predecessors = selectors.dependencies(row)
        return super().shown(row)

    def perform_create(self, values: Any) -> Job:
        return services.job_submit(caller=self.caller, spec=values, now=timezone.now())

    def perform_update(self, row: Job, changes: Any) -> Job:
        return services.job_update(caller=self.caller, job=row, changes=changes)

    @action(detail=False, methods=["post"])
    def bulk(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Submit up to 10,000 jobs at once. The good ones are stored, the others are explained."""
        items = structs.JobsBulkSubmit().run_validation(request.data).jobs

        def effect() -> Answer:
            results = services.jobs_submit_bulk(caller=self.caller, items=items, now=timezone.now())
            return Answer(_bulk_body(results))

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


def _bulk_body(results: list[ItemResult]) -> dict[str, Any]:
    items = [
        {"index": result.index, "status": 201, "id": result.id, "problem": None}
        if result.problem is None
        else {
            "index": result.index,
            "status": result.problem.status_code,
            "id": None,
            "problem": _problem_body(result.problem),
        }
        for result in results
    ]
    stored = sum(result.problem is None for result in results)
    return {"stored": stored, "refused": len(results) - stored, "items": items}


def _problem_body(problem: Problem) -> dict[str, Any]:
    errors = [
        {"pointer": fault.pointer, "code": fault.code, "detail": fault.detail}
        for fault in problem.errors
    ]
    return {"code": problem.code, "detail": problem.text, "errors": errors}
