"""Why a job is where it is, over HTTP."""

from dataclasses import asdict
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from jobs import selectors
from jobs.models import Job
from rest.serializers import represented
from rest.views import Answer, ResourceViewSet, respond
from scheduling.api import examples, serializers
from scheduling.explain import explain


class JobExplainViewSet(ResourceViewSet):
    resource = "jobs"
    rights = {"explain": "decisions.read"}
    output = serializers.ExplanationOut
    examples = examples.EXPLAIN

    def rows(self) -> QuerySet[Job]:
        return selectors.jobs(self.caller)

    def explain(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Why the job is where it is, and what would start it sooner."""
        job = self.row()
        explained = {"job_id": job.pk, **asdict(explain(job))}
        return respond(Answer(represented(serializers.ExplanationOut, explained)))
