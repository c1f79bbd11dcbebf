"""Whether every promise was kept, by what clients saw, jobs wrote and the API says in the end."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

from lab.chaos.client import TERMINAL
from lab.chaos.history import Line
from lab.chaos.journals import JournalProcess, JournalRun, runs

PAST_LEASE = "stop agent past its lease"
# An agent says within this time that an attempt has ended.
TELLS_S = 1.0
KINDS = ("lost", "doubled", "overlap", "stuck", "ledger")


@dataclass(frozen=True)
class BrokenPromise:
    kind: str
    text: str
    at_s: float
    job: int | None = None


@dataclass(frozen=True)
class CampaignEvidence:
    history: Sequence[Line]
    processes: Sequence[JournalProcess]
    # What the API says in the end: all jobs of the campaign, and the energy of every node.
    jobs: Sequence[Mapping[str, Any]]
    energy: Sequence[Mapping[str, Any]]
    # Attempts that were asked to make room.
    stopped: frozenset[int] = frozenset()

    def of(self, event: str) -> list[Line]:
        return [line for line in self.history if line["event"] == event]


def violations(evidence: CampaignEvidence) -> list[BrokenPromise]:
    by_job: dict[int, list[JournalRun]] = defaultdict(list)
    for run in runs(evidence.processes):
        by_job[run.job].append(run)
    return [
        *_submits(evidence),
        *_ends(evidence, by_job),
        *_runs(evidence, by_job),
        *_gpus(evidence.processes),
        *_energy(evidence),
    ]


def _submits(evidence: CampaignEvidence) -> Iterable[BrokenPromise]:
    """Each key that was asked for has one job, and each acknowledged job is there."""
    there = {job["id"] for job in evidence.jobs}
    by_key: dict[str, list[int]] = defaultdict(list)
    for job in evidence.jobs:
        by_key[job["labels"]["key"]].append(job["id"])
    for line in evidence.of("answer"):
        if line["path"] != "jobs/":
            continue
        if line["status"] != 201:
            text = f"a good submit was answered by {line['status']} {line['code']}"
            yield BrokenPromise("lost", text, line["at_s"])
        elif line["job"] not in there:
            yield BrokenPromise("lost", "acknowledged and gone", line["at_s"], line["job"])
        elif by_key[line["key"]] != [line["job"]]:
            text = f"the key {line['key']} has the jobs {by_key[line['key']]}"
            yield BrokenPromise("doubled", text, line["at_s"], line["job"])


def _ends(
    evidence: CampaignEvidence, by_job: Mapping[int, list[JournalRun]]
) -> Iterable[BrokenPromise]:
    """Everything ends, by itself or because its owner asked, and once it has it stays so."""
    seen = {line["job"]: line for line in evidence.of("ended")}
    cancels = {line["path"] for line in evidence.of("ask") if line["path"].endswith("/cancel/")}
    last_s = max((line["at_s"] for line in evidence.history), default=0.0)
    for job in evidence.jobs:
        pk, state = job["id"], job["state"]
        at_s = seen[pk]["at_s"] if pk in seen else last_s
        if state not in TERMINAL:
            yield BrokenPromise("stuck", f"still {state} ({job['reason']})", at_s, pk)
        elif pk in seen and seen[pk]["state"] != state:
            text = f"{seen[pk]['state']} was shown to its client, and now it is {state}"
            yield BrokenPromise("lost", text, at_s, pk)
        elif state == "failed":
            yield BrokenPromise("lost", f"failed ({job['reason']}), and exits with 0", at_s, pk)
        elif state == "cancelled" and f"jobs/{pk}/cancel/" not in cancels:
            yield BrokenPromise("lost", f"cancelled ({job['reason']}) by nobody", at_s, pk)
        elif state == "succeeded" and not any(run.whole for run in by_job.get(pk, ())):
            yield BrokenPromise("lost", "succeeded without having run", at_s, pk)


def _runs(
    evidence: CampaignEvidence, by_job: Mapping[int, list[JournalRun]]
) -> Iterable[BrokenPromise]:
    """A job runs once at a time, and not again once it has ended.

    Where a shim is killed after its job's last line, nobody can know that the job had come to its
    end; nor where its agent is stopped before it says so, for longer than the lease; where a job is
    asked to stop just then, its exit with 0 means that it has saved its state. All may run again.
    """
    seen = {line["job"]: line["at_s"] for line in evidence.of("ended")}
    killed = {attempt for line in evidence.of("fault") for attempt in line["attempts"]}
    untold = killed | evidence.stopped | _silenced(evidence)
    for pk, mine in by_job.items():
        for earlier, later in pairwise(mine):
            if later.start_s < earlier.last_s:
                text = f"attempts {earlier.attempt} and {later.attempt} ran at once"
                yield BrokenPromise("doubled", text, later.start_s, pk)
        whole = [run for run in mine if run.whole and run.attempt not in untold]
        for earlier, later in pairwise(whole):
            text = f"attempts {earlier.attempt} and {later.attempt} both came to their end"
            yield BrokenPromise("doubled", text, later.last_s, pk)
        for run in mine:
            if pk in seen and run.start_s > seen[pk]:
                text = f"attempt {run.attempt} began after its client had seen the end"
                yield BrokenPromise("doubled", text, run.start_s, pk)


def _silenced(evidence: CampaignEvidence) -> set[int]:
    """Attempts that ended while their agent was stopped past its lease, or at most just before."""
    return {
        each.attempt
        for line in evidence.of("fault")
        if line["kind"] == PAST_LEASE
        for each in evidence.processes
        if each.node == line["target"]
        and line["at_s"] - TELLS_S < each.last_s < line["at_s"] + line["lasts_s"]
    }


def _gpus(processes: Sequence[JournalProcess]) -> Iterable[BrokenPromise]:
    """No two attempts at once on one GPU."""
    holders: dict[str, list[JournalProcess]] = defaultdict(list)
    for each in processes:
        for gpu in each.gpus:
            holders[gpu].append(each)
    told = set()
    for gpu, held in holders.items():
        for one, other in combinations(sorted(held, key=lambda each: each.start_s), 2):
            pair = frozenset((one.attempt, other.attempt))
            if one.attempt != other.attempt and other.start_s < one.last_s and pair not in told:
                told.add(pair)
                text = f"{gpu} was used by attempt {one.attempt} (job {one.job}) for " \
                    f"{one.last_s - other.start_s:.2f} s more"  # fmt: skip
                yield BrokenPromise("overlap", text, other.start_s, other.job)


def _energy(evidence: CampaignEvidence) -> Iterable[BrokenPromise]:
    """Each counter is what was billed, idle and unseen; nothing is open and nothing below zero."""
    at_s = max((line["at_s"] for line in evidence.history), default=0.0)
    for node in evidence.energy:
        for gpu in node["gpus"]:
            parts = [gpu[name] for name in ("billed_mj", "open_mj", "idle_mj", "gap_mj")]
            if gpu["counter_mj"] != sum(parts) or min(parts) < 0 or gpu["open_mj"] != 0:
                shown = {name: gpu[name] for name in gpu if name.endswith("_mj")}
                yield BrokenPromise("ledger", f"{node['node']} {gpu['uuid']}: {shown}", at_s)
