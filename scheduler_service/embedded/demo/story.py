"""`make demo`: submit, watch, and look whether the statement is what the meters counted."""

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from fairwatt import Client, Job, JobState
from fairwatt.structs.attempts import Attempt
from fairwatt.structs.energy import JobEnergy

from scheduler_service.embedded.demo.meters import drawn_by_job
from scheduler_service.embedded.demo.service import (
    DemoError,
    DemoService,
    callers,
    running,
    say,
    wait_until,
)
from scheduler_service.embedded.demo.workload import FIRST, PARAMETERS, POLICY, URGENT, Task

LONGEST_S = 170.0
TENANTS = ("acme", "globex")


class Story:
    """The jobs of this demo: names, owners and ids, and what has been told of them."""

    def __init__(self, clients: dict[str, Client]) -> None:
        self._clients = clients
        self.ids: dict[str, int] = {}
        self.owners: dict[str, str] = {}
        self.jobs: dict[str, Job] = {}
        self._begun_s = time.monotonic()

    def tell(self, name: str, what: str) -> None:
        say(f"{time.monotonic() - self._begun_s:6.1f} s  {name:<12} {what}")

    def submit(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            job = self._clients[task.tenant].submit(task.spec())
            self.ids[task.name], self.owners[task.name] = job.id, task.tenant
            asked = f"{task.gpus} {task.gpu_type}"
            self.tell(task.name, f"submitted by {task.tenant} as job {job.id}, {asked}")

    def look(self) -> bool:
        """Tell what moved since the last look; whether all are over."""
        for name, job_id in self.ids.items():
            before = self.jobs.get(name)
            now = self.jobs[name] = self.owner(name).job(job_id)
            if before is None or (now.state, now.reason) != (before.state, before.reason):
                step = f", step {now.work_done:.0f}" if now.work_done else ""
                self.tell(name, f"{now.state} ({now.reason}){step}{self._why(name, now)}")
        return all(job.ended for job in self.jobs.values())

    def owner(self, name: str) -> Client:
        return self._clients[self.owners[name]]

    def attempts(self, name: str) -> list[Attempt]:
        return sorted(self.owner(name).attempts(self.ids[name]), key=lambda each: each.number)

    def log(self, name: str, attempt: int) -> str:
        page = self.owner(name).log_page(self.ids[name], attempt=attempt, limit=1_048_576)
        return page.text

    def energy(self, name: str) -> JobEnergy:
        return self.owner(name).cost(self.ids[name])

    def _why(self, name: str, job: Job) -> str:
        if job.state is not JobState.FAILED:
            return ""
        events = self.owner(name).job_events(job.id).items
        return f": {max(events, key=lambda event: event.id).detail}"


def demo() -> None:
    with running() as service, callers(service) as clients:
        play(service, clients)


def play(service: DemoService, clients: dict[str, Client]) -> None:
    begun_s = time.monotonic()
    operator = clients["operator"]
    wait_until(lambda: len(list(operator.nodes(state="ready"))) == 4, 60, "four nodes are ready")
    story = Story(clients)
    with urgent_jobs_preempt(operator):
        story.submit(FIRST)
        wait_until(lambda: _steps(story, "low", "middle"), 60, "the V100s are taken and in use")
        story.submit(URGENT)
        wait_until(story.look, LONGEST_S, "all jobs have ended")
    expect_ends(story)
    show_resumption(story)
    show_gang(story)
    wait_until(lambda: _settled(story), 60, "the ledger has settled all attempts")
    show_money(service, story, clients)
    show_balance(operator)
    say(f"\nAll of it in {time.monotonic() - begun_s:.0f} s.")


@contextmanager
def urgent_jobs_preempt(operator: Client) -> Iterator[None]:
    """The cluster has the policy of this story for as long as it takes, then its own again."""
    before = operator.cluster_named()
    operator.set_policy(POLICY, dict(PARAMETERS))
    try:
        yield
    finally:
        operator.set_policy(before.policy, before.policy_parameters)


def expect_ends(story: Story) -> None:
    wanted = dict.fromkeys(story.ids, JobState.SUCCEEDED) | {"broken-data": JobState.FAILED}
    for name, state in wanted.items():
        if story.jobs[name].state is not state:
            raise DemoError(f"{name} is {story.jobs[name].state}, not {state}")


def show_resumption(story: Story) -> None:
    stopped = [name for name in story.ids if len(story.attempts(name)) > 1]
    if not stopped:
        raise DemoError("nobody was preempted")
    for name in stopped:
        saved = re.findall(r"saved at step (\d+)", story.log(name, 1))
        resumed = re.findall(r"starting at step (\d+)", story.log(name, 2))
        if not saved or saved != resumed:
            raise DemoError(f"{name} stopped at step {saved} and went on at step {resumed}")
        say(f"\n{name} was preempted at step {saved[0]} and went on from step {resumed[0]}.")


def show_gang(story: Story) -> None:
    (attempt,) = story.attempts("gang")
    found = story.owner("gang").attempt(attempt.id)
    nodes = sorted({allocation.node for allocation in found.allocations})
    if len(nodes) != 2:
        raise DemoError(f"the gang ran on {nodes}")
    say(f"The gang of {attempt.gpus} ran on {' and '.join(nodes)}.")


def show_money(service: DemoService, story: Story, clients: dict[str, Client]) -> None:
    """Statements, job by job, against the meters that the agents read."""
    meters_mj = drawn_by_job(service.var / "agents", story.ids.values())
    lines = {line.job_id: line for who in TENANTS for line in clients[who].statement().lines}
    say(
        f"\n{'job':<14}{'tenant':<8}{'statement, mJ':>16}{'meters, mJ':>16}"
        f"{'cost':>16}  prediction off by"
    )
    for name, job_id in story.ids.items():
        line = lines[job_id]
        cost = f"{line.cost:.6f} {line.currency}"
        say(f"{name:<14}{story.owners[name]:<8}{line.gpu_mj:>16}{meters_mj[job_id]:>16}"
            f"{cost:>16}  {_errors(story, name)}")  # fmt: skip
    statement = sum(lines[job_id].gpu_mj for job_id in story.ids.values())
    meters = sum(meters_mj.values())
    say(f"{'sum':<22}{statement:>16}{meters:>16}   difference {statement - meters} mJ")
    if statement != meters:
        raise DemoError("the statement is not what the meters counted")


def show_balance(operator: Client) -> None:
    """Every counter: what attempts drew, what was idle, and what nobody saw."""
    say(f"\n{'node':<8}{'counters':>16} = {'billed':>14} + {'open':>12} + {'idle':>14} + gaps, mJ")
    for node in operator.nodes():
        gpus = operator.node_energy(node.id).gpus
        counter = sum(gpu.counter_mj for gpu in gpus)
        billed, still_open = sum(gpu.billed_mj for gpu in gpus), sum(gpu.open_mj for gpu in gpus)
        idle, gap = sum(gpu.idle_mj for gpu in gpus), sum(gpu.gap_mj for gpu in gpus)
        say(f"{node.name:<8}{counter:>16} = {billed:>14} + {still_open:>12} + {idle:>14} + {gap}")
        if counter != billed + still_open + idle + gap:
            raise DemoError(f"the meters of {node.name} do not add up")


def _steps(story: Story, *names: str) -> bool:
    story.look()
    return all(story.jobs[name].work_done > 20 for name in names)


def _settled(story: Story) -> bool:
    found = [story.energy(name) for name in story.ids]
    return all(each.open_mj == 0 and each.totals and _all_final(each) for each in found)


def _all_final(energy: JobEnergy) -> bool:
    return all(meter.final for each in energy.attempts for meter in each.meters)


def _errors(story: Story, name: str) -> str:
    errors = [attempt.prediction_error for attempt in story.energy(name).attempts]
    return ", ".join("?" if error is None else f"{100 * error:+.0f} %" for error in errors)
