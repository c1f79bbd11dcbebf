"""While nodes bring code or an image along, the job's explanation says so, and how far they are."""

import pytest

from agent.wire import AttemptReport, Fetched, Fetching, State, Sync
from engines.agents.node_state import read_state
from engines.agents.quiet import is_quiet
from jobs.models import Job, Part
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.explain import Explanation, explain
from scheduling.round import run_round
from tests.engines.agents.nodes import BOOT, Agent, join

pytestmark = pytest.mark.django_db
GIT = {"git_url": "https://git.example/a.git", "git_commit": "cd" * 20}


def _placed(**fields: object) -> tuple[Agent, Job]:
    cluster = make_cluster()
    agent = join(cluster, "n1")
    (job,) = make_jobs(cluster, make_tenant(), 1, **fields)
    run_round(cluster.pk, now=NOW)
    return agent, job


def _said(agent: Agent, job: Job, state: State, fetching: Fetching | None) -> Explanation:
    (attempt,) = agent.sync().attempts
    report = AttemptReport(attempt.attempt_id, attempt.fence, state, fetching=fetching)
    agent.reports[attempt.attempt_id] = report
    agent.sync()
    job.refresh_from_db()
    return explain(job, now=NOW)


def _message(agent: Agent) -> Sync:
    return Sync(agent.epoch, agent.sequence + 1, BOOT, tuple(agent.reports.values()))


def test_code_on_its_way_is_told_until_the_program_runs() -> None:
    agent, job = _placed(**GIT)
    half = Fetching(Fetched.ARCHIVE, 3 * 2**20, 6 * 2**20)
    found = _said(agent, job, State.STARTING, half)
    assert (found.state, found.reason) == ("placed", "fetching")
    assert found.text == (
        "It has its GPUs, and n1 fetches its working directory: 3.0 of 6.0 MiB are there."
    )
    (fetch,) = found.evidence["fetches"]
    assert fetch == {
        "node": "n1",
        "kind": "archive",
        "name": "its working directory",
        "done_bytes": 3 * 2**20,
        "size_bytes": 6 * 2**20,
    }
    found = _said(agent, job, State.STARTING, Fetching(Fetched.GIT))
    assert found.text == (
        f"It has its GPUs, and n1 fetches commit {'cd' * 20} of https://git.example/a.git."
    )
    found = _said(agent, job, State.RUNNING, None)
    assert (found.reason, found.evidence) == ("started", {})
    assert Part.objects.get().fetching is None


def test_an_image_is_told_of_until_its_container_is_made() -> None:
    agent, job = _placed(image="train:1")
    found = _said(agent, job, State.RUNNING, Fetching(Fetched.IMAGE))
    assert (found.state, found.reason) == ("running", "fetching")
    assert "n1 makes its container of image train:1, and fetches what it lacks" in found.text
    node = read_state(agent.token_id, agent.epoch)
    assert node is not None
    assert is_quiet(node, _message(agent))
    (attempt_id,) = agent.reports
    fence = agent.reports[attempt_id].fence
    agent.reports[attempt_id] = AttemptReport(attempt_id, fence, State.RUNNING)
    assert not is_quiet(node, _message(agent)), "that it is there must be written down"
    agent.sync()
    assert explain(job, now=NOW).text == "It is running."


def test_an_older_agent_says_nothing_of_it() -> None:
    agent, job = _placed()
    assert _said(agent, job, State.STARTING, None).reason == "placed"
