"""Why a job is where it is, over HTTP."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from jobs import selectors
from jobs.models import Job
from rest.structs import show
from rest.views import Answer, ResourceViewSet, respond
from scheduling.api import structs
from scheduling.explain import explain


class JobExplainViewSet(ResourceViewSet):
    resource = "jobs"
    rights = {"explain": "decisions.read"}
    output = structs.ExplanationOut

    def rows(self) -> QuerySet[Job]:
        return selectors.jobs(self.caller)

    def explain(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Why the job is where it is, and what would start it sooner."""
        job = self.row()
        return respond(
            Answer(show(structs.ExplanationOut, explain(job, now=timezone.now()), job_id=job.pk))
        )
