"""A violation as a story: what clients, jobs and the campaign did around it, line by line."""

import json
from collections.abc import Iterator

from lab.chaos.check import BrokenPromise, CampaignEvidence
from lab.chaos.history import Line

AROUND_S = 15.0


def story(violation: BrokenPromise, evidence: CampaignEvidence, repeat: str) -> str:
    lines = sorted(_lines(violation, evidence), key=lambda line: line[0])
    begun_s = evidence.history[0]["at_s"] if evidence.history else 0.0
    told = [f"  {at_s - begun_s:8.2f} s  {text}" for at_s, text in lines]
    whose = "" if violation.job is None else f" job {violation.job}:"
    head = f"{violation.kind.upper()}:{whose} {violation.text}"
    return "\n".join([head, *told, f"  repeat with: {repeat}"])


def _lines(violation: BrokenPromise, evidence: CampaignEvidence) -> Iterator[tuple[float, str]]:
    """All about its job, and every fault near it."""
    for line in evidence.history:
        fault = line["event"] in ("fault", "heal", "crash")
        near = abs(line["at_s"] - violation.at_s) < AROUND_S
        if (fault and near) or (violation.job is not None and _about(line, violation.job)):
            facts = {key: value for key, value in line.items() if key not in ("at_s", "event")}
            yield line["at_s"], f"{line['event']} {json.dumps(facts)}"
    for each in evidence.processes:
        if each.job == violation.job:
            where = f"attempt {each.attempt} rank {each.rank} on {each.node} {','.join(each.gpus)}"
            yield each.start_s, f"job: starts, {where}"
            yield each.last_s, f"job: {'ends' if each.ended else 'last seen'}, {where}"


def _about(line: Line, job: int) -> bool:
    return line.get("job") == job or line.get("path") == f"jobs/{job}/cancel/"
