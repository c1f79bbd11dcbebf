"""`make demo`: submit, watch, and look whether the statement is what the meters counted."""

import re
import time
from collections.abc import Iterable
from typing import Any

from scheduler_service.embedded.demo.meters import drawn_by_job
from scheduler_service.embedded.demo.service import DemoError, Service, running, say, wait_until
from scheduler_service.embedded.demo.workload import FIRST, POLICY, URGENT, Task

LONGEST_S = 170.0
TERMINAL = ("succeeded", "failed", "cancelled")
TENANTS = ("acme", "globex")


class Story:
    """The jobs of this demo: names, owners and ids, and what has been told of them."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.ids: dict[str, int] = {}
        self.owners: dict[str, str] = {}
        self.jobs: dict[str, dict[str, Any]] = {}
        self._begun_s = time.monotonic()

    def tell(self, name: str, what: str) -> None:
        say(f"{time.monotonic() - self._begun_s:6.1f} s  {name:<12} {what}")

    def submit(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            made = self.service.call("POST", "jobs/", task.tenant, task.submit())
            self.ids[task.name], self.owners[task.name] = made["id"], task.tenant
            asked = f"{task.gpus} {task.gpu_type}"
            self.tell(task.name, f"submitted by {task.tenant} as job {made['id']}, {asked}")

    def look(self) -> bool:
        """Tell what moved since the last look; whether all are over."""
        for name, job_id in self.ids.items():
            before = self.jobs.get(name, {})
            now = self.jobs[name] = self.service.get(f"jobs/{job_id}/", self.owners[name])
            if (now["state"], now["reason"]) != (before.get("state"), before.get("reason")):
                step = f", step {now['work_done']:.0f}" if now["work_done"] else ""
                self.tell(name, f"{now['state']} ({now['reason']}){step}{self._why(name, now)}")
        return all(found["state"] in TERMINAL for found in self.jobs.values())

    def attempts(self, name: str) -> list[dict[str, Any]]:
        found: dict[str, Any] = self.service.get(f"attempts/?job={self.ids[name]}&limit=50")
        return sorted(found["items"], key=lambda attempt: int(attempt["number"]))

    def log(self, name: str, attempt: int) -> str:
        path = f"jobs/{self.ids[name]}/logs/?attempt={attempt}&limit=1048576"
        return str(self.service.get(path, self.owners[name])["text"])

    def energy(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.service.get(
            f"jobs/{self.ids[name]}/energy/", self.owners[name]
        )
        return found

    def _why(self, name: str, found: dict[str, Any]) -> str:
        if found["state"] != "failed":
            return ""
        events = self.service.get(f"jobs/{self.ids[name]}/events/?limit=100", self.owners[name])
        newest = max(events["items"], key=lambda event: int(event["id"]))
        return f": {newest['detail']}"


def demo() -> None:
    with running() as service:
        play(service)


def play(service: Service) -> None:
    begun_s = time.monotonic()
    wait_until(lambda: _ready_nodes(service) == 4, 60, "four nodes are ready")
    cluster = service.get("clusters/?limit=100")["items"]
    demo = next(found for found in cluster if found["name"] == "demo")
    service.call("PATCH", f"clusters/{demo['id']}/", body=POLICY)
    story = Story(service)
    story.submit(FIRST)
    wait_until(lambda: _steps(story, "low", "middle"), 60, "the V100s are taken and in use")
    story.submit(URGENT)
    wait_until(story.look, LONGEST_S, "all jobs have ended")
    expect_ends(story)
    show_resumption(story)
    show_gang(story)
    wait_until(lambda: _settled(story), 60, "the ledger has settled all attempts")
    show_money(story)
    show_balance(service)
    say(f"\nAll of it in {time.monotonic() - begun_s:.0f} s.")


def expect_ends(story: Story) -> None:
    wanted = dict.fromkeys(story.ids, "succeeded") | {"broken-data": "failed"}
    for name, state in wanted.items():
        if story.jobs[name]["state"] != state:
            raise DemoError(f"{name} is {story.jobs[name]['state']}, not {state}")


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
    found = story.service.get(f"attempts/{attempt['id']}/")
    nodes = sorted({allocation["node"] for allocation in found["allocations"]})
    if len(nodes) != 2:
        raise DemoError(f"the gang ran on {nodes}")
    say(f"The gang of {attempt['gpus']} ran on {' and '.join(nodes)}.")


def show_money(story: Story) -> None:
    """Statements, job by job, against the meters that the agents read."""
    meters_mj = drawn_by_job(story.service.var / "agents", story.ids.values())
    lines = {line["job_id"]: line for owner in TENANTS for line in _lines(story.service, owner)}
    say(
        f"\n{'job':<14}{'tenant':<8}{'statement, mJ':>16}{'meters, mJ':>16}"
        f"{'cost':>16}  prediction off by"
    )
    for name, job_id in story.ids.items():
        line = lines[job_id]
        cost = f"{float(line['cost']):.6f} {line['currency']}"
        say(f"{name:<14}{story.owners[name]:<8}{line['gpu_mj']:>16}{meters_mj[job_id]:>16}"
            f"{cost:>16}  {_errors(story, name)}")  # fmt: skip
    statement = sum(lines[job_id]["gpu_mj"] for job_id in story.ids.values())
    meters = sum(meters_mj.values())
    say(f"{'sum':<22}{statement:>16}{meters:>16}   difference {statement - meters} mJ")
    if statement != meters:
        raise DemoError("the statement is not what the meters counted")


def show_balance(service: Service) -> None:
    """Every counter: what attempts drew, what was idle, and what nobody saw."""
    say(f"\n{'node':<8}{'counters':>16} = {'billed':>14} + {'open':>12} + {'idle':>14} + gaps, mJ")
    for node in service.get("nodes/?limit=100")["items"]:
        gpus = service.get(f"nodes/{node['id']}/energy/")["gpus"]
        counter, *parts = (
            sum(gpu[part] for gpu in gpus)
            for part in ("counter_mj", "billed_mj", "open_mj", "idle_mj", "gap_mj")
        )
        billed, still_open, idle, gap = parts
        say(
            f"{node['name']:<8}{counter:>16} = {billed:>14} + {still_open:>12} + {idle:>14} + {gap}"
        )
        if counter != sum(parts):
            raise DemoError(f"the meters of {node['name']} do not add up")


def _ready_nodes(service: Service) -> int:
    nodes = service.get("nodes/?limit=100")["items"]
    return sum(node["state"] == "ready" for node in nodes)


def _steps(story: Story, *names: str) -> bool:
    story.look()
    return all(story.jobs[name]["work_done"] > 20 for name in names)


def _settled(story: Story) -> bool:
    found = [story.energy(name) for name in story.ids]
    return all(
        energy["open_mj"] == 0 and energy["totals"] and _all_final(energy) for energy in found
    )


def _all_final(energy: dict[str, Any]) -> bool:
    return all(meter["final"] for each in energy["attempts"] for meter in each["meters"])


def _lines(service: Service, owner: str) -> list[dict[str, Any]]:
    tenants = service.get("tenants/?limit=100", owner)["items"]
    lines: list[dict[str, Any]] = []
    cursor: str | None = "0"
    while cursor is not None:
        path = f"tenants/{tenants[0]['id']}/statement/?limit=1000&cursor={cursor}"
        page = service.get(path, owner)
        lines += page["lines"]
        cursor = page["next"]
    return lines


def _errors(story: Story, name: str) -> str:
    errors = [attempt["prediction_error"] for attempt in story.energy(name)["attempts"]]
    return ", ".join("?" if error is None else f"{100 * error:+.0f} %" for error in errors)
