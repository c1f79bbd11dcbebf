"""One job, and what may be done with it."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils import timezone

from console.pages import acts, reads, show
from console.query import number
from console.reads.curves import gpus_of_job
from console.reads.job import TAIL_BYTES, JobView, job_logs, job_view, one_job
from console.views.site import drawn
from jobs import services
from jobs.logs import page
from jobs.models import Log
from rest.problems import NotFound
from tenancy.callers import Caller


@reads("jobs.read")
def job(request: HttpRequest, caller: Caller, job_id: int) -> HttpResponse:
    view = job_view(caller, job_id, now=timezone.now())
    return show(request, caller, "job.html", {"view": view, **_log(request, caller, view)})


@reads("jobs.read")
def job_live(request: HttpRequest, caller: Caller, job_id: int) -> HttpResponse:
    view = job_view(caller, job_id, now=timezone.now())
    return show(request, caller, "job_live.html", {"view": view})


def _log(request: HttpRequest, caller: Caller, view: JobView) -> dict[str, Any]:
    """The end of the stream that was chosen, else of the first."""
    streams, wanted = job_logs(caller, view.job), number(request, "log")
    log = next((s for s in streams if s.pk == wanted), next(iter(streams), None))
    if log is None:
        return {"streams": []}
    shown = page(log, offset=max(0, log.size - TAIL_BYTES), limit=TAIL_BYTES)
    return {"streams": streams, "log": log, "shown": shown}


@reads("job_logs.read")
def log_tail(request: HttpRequest, caller: Caller, job_id: int, log_id: int) -> HttpResponse:
    log = _stream(caller, job_id, log_id)
    found = page(log, offset=number(request, "offset") or 0, limit=TAIL_BYTES)
    over = log.closed and found.next_offset >= log.size
    return JsonResponse({"text": found.text, "next_offset": found.next_offset, "over": over})


def _stream(caller: Caller, job_id: int, log_id: int) -> Log:
    for log in job_logs(caller, one_job(caller, job_id)):
        if log.pk == log_id:
            return log
    raise NotFound


@reads("job_energy.read")
def gpus_curve(request: HttpRequest, caller: Caller, job_id: int) -> HttpResponse:
    return drawn(gpus_of_job(caller, one_job(caller, job_id), now=timezone.now()))


@acts("jobs.cancel")
def cancel(request: HttpRequest, caller: Caller, job_id: int) -> HttpResponse:
    services.job_cancel(caller=caller, job_id=job_id, now=timezone.now())
    return _back(request, job_id, "The job is cancelled, or will be once its node has stopped it.")


@acts("jobs.hold")
def hold(request: HttpRequest, caller: Caller, job_id: int) -> HttpResponse:
    services.job_hold(caller=caller, job_id=job_id)
    return _back(request, job_id, "The job is held.")


@acts("jobs.hold")
def release(request: HttpRequest, caller: Caller, job_id: int) -> HttpResponse:
    services.job_release(caller=caller, job_id=job_id)
    return _back(request, job_id, "The job may start.")


@acts("jobs.submit")
def resubmit(request: HttpRequest, caller: Caller, job_id: int) -> HttpResponse:
    again = services.job_resubmit(caller=caller, job_id=job_id, now=timezone.now())
    return _back(request, again.pk, f"Submitted again, as job {again.pk}.")


def _back(request: HttpRequest, job_id: int, said: str) -> HttpResponse:
    messages.success(request, said)
    return HttpResponseRedirect(reverse("console:job", args=[job_id]))
