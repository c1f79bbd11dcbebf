"""Attempts on a node in ordinary times: what the service wants is what runs."""

import os
import sys
from collections.abc import Callable

import psutil

from agent.wire import DesiredAttempt, End, Gang, State, Stream
from tests.agent.conftest import AgentProcess, gpu_uuid
from tests.agent.service import Service, until

Make = Callable[..., DesiredAttempt]


def running(service: Service, attempt_id: int = 7) -> Callable[[], bool]:
    def holds() -> bool:
        report = service.latest.get(attempt_id)
        return report is not None and report.state is State.RUNNING

    return holds


def ended(service: Service, attempt_id: int = 7) -> Callable[[], object]:
    return lambda: service.ended.get(attempt_id)


def test_an_attempt_runs_and_its_exit_code_and_last_words_come_back(
    agent: AgentProcess, service: Service, attempt: Make
) -> None:
    code = "import sys; print('working'); print('no such file: data', file=sys.stderr); sys.exit(3)"
    service.want(attempt(code))
    until(ended(service), "the end of the attempt")
    report = service.ended[7]
    assert (report.end, report.exit_code, report.signal) == (End.EXITED, 3, None)
    assert report.detail == "exit code 3: no such file: data"
    until(lambda: (7, Stream.STDERR) in service.final, "the whole of the log")
    assert service.text(7) == "working\n"
    assert service.text(7, Stream.STDERR) == "no such file: data\n"
    until(lambda: agent.run_dir(7) is None, "the run's directory gone once all is told")
