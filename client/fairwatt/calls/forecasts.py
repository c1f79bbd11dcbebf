"""When jobs start and end, and the whole answer to "why"."""

from typing import Any

from msgspec import Struct

from fairwatt.call import Call, Flow, Pause, get, post
from fairwatt.calls.clusters import cluster_named
from fairwatt.operation import Asker, operation, procedure
from fairwatt.pages import Page
from fairwatt.structs.energy import JobEnergy
from fairwatt.structs.explanations import Explanation
from fairwatt.structs.jobs import Event, JobDetail
from fairwatt.structs.whatif import Forecast, ForecastJob

POLL_S = 0.3


class When(Struct, frozen=True):
    """When a job starts and ends, by which forecast, and in which currency its cost is."""

    job: ForecastJob
    forecast: Forecast


class Why(Struct, frozen=True):
    """All there is to know of a job on one screen."""

    job: JobDetail
    explanation: Explanation
    last: Event | None
    when: When | None
    energy: JobEnergy


class ForecastCalls(Asker):
    @procedure
    def when(self, job_id: int, *, fresh: bool = False) -> Flow[When | None]:
        """When a queued job starts, with an interval, and what it will cost.

        From the cluster's newest forecast; a new one is made with `fresh`, or where the newest
        does not know the job. None where no forecast knows it: over, held, or waiting for
        others; times are None where they lie beyond what was simulated.

        >>> client.when(waiting.id).job.start_at is None
        True
        >>> client.when(done.id) is None
        True
        """
        job = yield from self.ask(get(f"jobs/{job_id}/", JobDetail))
        if job.ended:
            return None
        cluster = yield from cluster_named(self, job.cluster)
        found = None if fresh else (yield from _newest(self, cluster.id, job_id))
        if found is None and job.started_at is None:
            forecast = yield from _made(self, cluster.id)
            found = yield from _of_job(self, forecast, job_id)
        return found

    @procedure
    def forecast(self, *, cluster: str | None = None) -> Flow[Forecast]:
        """Run a cluster's queue forward, now; returns when that is done.

        >>> client.forecast().cluster
        'demo'
        """
        found = yield from cluster_named(self, cluster)
        return (yield from _made(self, found.id))

    @operation
    def forecast_jobs(self, forecast_id: int) -> Call[Page[ForecastJob]]:
        """When each of your queued jobs starts and ends, by one forecast.

        >>> foreseen = client.forecast_jobs(client.forecast().id).items
        """
        return get(f"forecasts/{forecast_id}/jobs/", Page[ForecastJob], limit=1000)

    @procedure
    def why(self, job_id: int) -> Flow[Why]:
        """State, reason, evidence, remedies, forecast and cost of a job.

        >>> why = client.why(waiting.id)
        >>> why.explanation.reason
        'larger_than_partition'
        """
        job = yield from self.ask(get(f"jobs/{job_id}/", JobDetail))
        explanation = yield from self.ask(get(f"jobs/{job_id}/explain/", Explanation))
        energy = yield from self.ask(get(f"jobs/{job_id}/energy/", JobEnergy))
        when = None
        if not job.ended:
            cluster = yield from cluster_named(self, job.cluster)
            when = yield from _newest(self, cluster.id, job_id)
        events = yield from self.ask(get(f"jobs/{job_id}/events/", Page[Event], limit=1000))
        last = max(events.items, key=lambda event: event.id, default=None)
        return Why(job, explanation, last, when, energy)


def _newest(asker: Asker, cluster_id: int, job_id: int) -> Flow[When | None]:
    query: dict[str, Any] = {"state": "succeeded", "ordering": "-id", "limit": 1}
    path = f"clusters/{cluster_id}/forecasts/"
    found = yield from asker.ask(get(path, Page[Forecast], **query))
    return (yield from _of_job(asker, found.items[0], job_id)) if found.items else None


def _of_job(asker: Asker, forecast: Forecast, job_id: int) -> Flow[When | None]:
    path = f"forecasts/{forecast.id}/jobs/"
    found = yield from asker.ask(get(path, Page[ForecastJob], job=job_id, limit=1))
    return When(found.items[0], forecast) if found.items else None


def _made(asker: Asker, cluster_id: int) -> Flow[Forecast]:
    forecast = yield from asker.ask(post(f"clusters/{cluster_id}/forecast/", Forecast))
    while not forecast.state.ended:
        yield Pause(POLL_S)
        forecast = yield from asker.ask(get(f"forecasts/{forecast.id}/", Forecast))
    return forecast
