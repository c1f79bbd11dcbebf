"""An Airflow operator for Fairwatt jobs that holds no worker while it waits.

It submits in a worker, then defers: the triggerer follows the job's events, and the worker is
taken again when the job is over. The key makes a retried task find its job instead of submitting
a second one; clearing the task cancels the job.

Written against Airflow 3's BaseOperator, BaseTrigger and TriggerEvent. Not run against a real
Airflow here: tests run it with classes that only look like Airflow's.
"""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import fairwatt
from airflow.sdk import BaseOperator
from airflow.triggers.base import BaseTrigger, TriggerEvent


class FairwattTrigger(BaseTrigger):  # type: ignore[misc]  # Airflow is not installed here
    """Waits for one job in the triggerer, together with thousands of others."""

    def __init__(self, url: str, token: str, job_id: int) -> None:
        super().__init__()
        self.url, self.token, self.job_id = url, token, job_id

    def serialize(self) -> tuple[str, dict[str, Any]]:
        facts = {"url": self.url, "token": self.token, "job_id": self.job_id}
        return f"{type(self).__module__}.{type(self).__qualname__}", facts

    async def run(self) -> AsyncIterator[TriggerEvent]:
        async with fairwatt.AsyncClient(self.url, self.token) as client:
            job = await client.wait(self.job_id)
        yield TriggerEvent({"job_id": job.id, "state": str(job.state), "reason": job.reason})


class FairwattOperator(BaseOperator):  # type: ignore[misc]  # Airflow is not installed here
    """`FairwattOperator(task_id="train", url=…, token=…, spec={"argv": […], "gpus": 4})`."""

    template_fields: Sequence[str] = ("spec",)

    def __init__(self, *, url: str, token: str, spec: Mapping[str, Any], **airflow: Any) -> None:
        super().__init__(**airflow)
        self.url, self.token, self.spec = url, token, dict(spec)
        self.job_id: int | None = None

    def execute(self, context: Mapping[str, Any]) -> None:
        with fairwatt.Client(self.url, self.token) as client:
            job = client.submit(fairwatt.JobSpec(**self.spec), key=_key(context))
        self.job_id = job.id
        self.log.info("Fairwatt job %s is %s", job.id, job.state)
        trigger = FairwattTrigger(self.url, self.token, job.id)
        self.defer(trigger=trigger, method_name="resume")

    def resume(self, context: Mapping[str, Any], event: Mapping[str, Any]) -> dict[str, Any]:
        """The job's log into the task's; what the task returns is its cost."""
        job_id = int(event["job_id"])
        with fairwatt.Client(self.url, self.token) as client:
            for chunk in client.logs(job_id):
                self.log.info("%s", chunk.text.rstrip("\n"))
            totals = client.cost(job_id).totals
        if event["state"] != "succeeded":
            raise fairwatt.JobFailed(job_id, event["state"], event["reason"])
        return {"job_id": job_id, "cost": {sums.currency: str(sums.cost) for sums in totals}}

    def on_kill(self) -> None:
        if self.job_id is not None:
            with (
                contextlib.suppress(fairwatt.FairwattError),
                fairwatt.Client(self.url, self.token) as client,
            ):
                client.cancel(self.job_id)


def _key(context: Mapping[str, Any]) -> str:
    """The same for every retry of one task of one run."""
    task = context["task_instance"]
    return f"airflow/{task.dag_id}/{task.task_id}/{task.run_id}/{task.map_index}"
