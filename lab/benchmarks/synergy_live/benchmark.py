"""Two live jobs share an emulated node: do their speeds follow their CPUs as predicted, in place?

One is bound by the CPUs that prepare its batches, the other by its GPU; their profiles say so, over
HTTP like the jobs. First both have their proportional shares, then Synergy tunes them; nothing
restarts in between.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx

from lab.benchmarks.figures import figure
from lab.benchmarks.harness.cluster import joinable
from lab.benchmarks.harness.service import EXAMPLES, EmulatedNode, agents, api
from lab.benchmarks.harness.waiting import until
from lab.benchmarks.synergy_live import cluster

CLUSTER, GPU_TYPE = "synergy", "V100"
CASE = "1x2/2"
BAR_PCT = 10.0
WATCHED_S = 15.0
CPUS = 8
NODE = f"""
[host]
cpus = {CPUS}
memory_mib = 65536
idle_w = 100
peak_w = 400

[[gpus]]
type = "{GPU_TYPE}"
count = 2
memory_mib = 16384
idle_w = 40
max_w = 300
clocks_mhz = [1380]
"""
# A step waits for the slower of the GPU and the CPUs that prepare its batch.
PREPARE_S, COMPUTE_S, GPU_BOUND_S = 2.0, 0.2, 0.4
JOBS = {
    "cpu-bound": (
        *("train_cpu_bound.py", "--steps", "100000", "--checkpoint-every", "100000"),
        *("--prepare-s", str(PREPARE_S), "--compute-s", str(COMPUTE_S)),
    ),
    "gpu-bound": (
        *("train_gpu_like.py", "--steps", "100000", "--checkpoint-every", "100000"),
        *("--batch", "1", "--pause-s", str(GPU_BOUND_S)),
    ),
}


def steps_per_s(name: str, cpus: int) -> float:
    """The formula of the examples: what the profiles' points hold."""
    return 1 / (max(COMPUTE_S, PREPARE_S / cpus) if name == "cpu-bound" else GPU_BOUND_S)


def main(database_url: str) -> None:
    with api(database_url) as service:
        made = joinable(CLUSTER, nodes=1, policy="synergy", round_interval_s=3600)
        directory = service.directory
        node = _node(directory, made.join_tokens[0])
        with agents([node], service), service.client(made.tenant_token) as http:
            until(cluster.ready, "the node is ready")
            profiles = {name: submit(http, name) for name in JOBS}
            cluster.hold_round("proportional")
            until(lambda: len(_given(directory)) == len(JOBS), "both jobs run", jobs_at=http)
            before = _given(directory)
            predicted = predictions(http, profiles, before)
            report("proportional", before, predicted, _measured(directory))
            pids = cluster.pids(directory)
            cluster.hold_round("tune")
            until(
                lambda: _changed(before, _given(directory)), "the CPUs have changed", jobs_at=http
            )
            after = _given(directory)
            predicted = predictions(http, profiles, after)
            report("tune", after, predicted, _measured(directory))
            same = cluster.pids(directory) == pids and cluster.attempts() == len(JOBS)
            figure("synergy-live", CASE, "restarts", float(not same), "jobs", at_most=0)


def submit(http: httpx.Client, name: str) -> int:
    """A profile with its points and their fit, and the job that names it; the profile's id."""
    points = [
        {
            "gpu_type": GPU_TYPE,
            "gpus": 1,
            "cpus_per_gpu": cpus,
            "steps_per_s": steps_per_s(name, cpus),
        }
        for cpus in range(1, CPUS + 1)
    ]
    profile: int = _post(http, "profiles/", {"name": name, "points": points})["id"]
    _post(http, f"profiles/{profile}/fit/", {})
    argv = [sys.executable, *_at_home(JOBS[name])]
    # It states nothing: its profile decides.
    requests = {"cpus_per_gpu": 0, "memory_mib_per_gpu": 0}
    job = {"name": name, "cluster": CLUSTER, "argv": argv, "profile": name, **requests}
    _post(http, "jobs/", job)
    return profile


def predictions(
    http: httpx.Client, profiles: Mapping[str, int], cpus: Mapping[str, int]
) -> dict[str, float]:
    """What the service expects of every job on its CPUs."""
    found = {}
    for name, profile in profiles.items():
        asked: dict[str, str | int] = {"gpu_type": GPU_TYPE, "gpus": 1, "cpus": cpus[name]}
        answer = http.get(f"/api/v1/profiles/{profile}/predict/", params=asked).raise_for_status()
        found[name] = float(answer.json()["steps_per_s"])
    return found


def _post(http: httpx.Client, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = http.post(f"/api/v1/{path}", json=body).raise_for_status().json()
    return answer


def report(
    phase: str, cpus: Mapping[str, int], predicted: Mapping[str, float], actual: Mapping[str, float]
) -> None:
    for name in JOBS:
        case = f"{CASE} {phase} {name} on {cpus[name]} CPUs"
        figure("synergy-live", case, "steps", actual[name], "1/s")
        off_pct = 100 * abs(actual[name] - predicted[name]) / predicted[name]
        figure("synergy-live", case, "steps_off", off_pct, "%", at_most=BAR_PCT)
    total, expected = sum(actual.values()), sum(predicted.values())
    off_pct = 100 * abs(total - expected) / expected
    figure("synergy-live", f"{CASE} {phase}", "total_off", off_pct, "%", at_most=BAR_PCT)


def _measured(directory: Path) -> dict[str, float]:
    """Steps per second between the first and the last step that were seen to end."""
    seen: dict[str, list[tuple[float, int]]] = {name: [] for name in JOBS}
    ends_s = monotonic() + WATCHED_S
    while monotonic() < ends_s:
        for name, run in cluster.runs(directory).items():
            steps = _steps(run / "progress.jsonl")
            if not seen[name] or seen[name][-1][1] != steps:
                seen[name].append((monotonic(), steps))
        sleep(0.01)
    # The first reading fell somewhere into a step.
    return {
        name: (readings[-1][1] - readings[1][1]) / (readings[-1][0] - readings[1][0])
        for name, readings in seen.items()
    }


def _steps(path: Path) -> int:
    return sum("step" in json.loads(line) for line in path.read_text().splitlines() if line)


def _given(directory: Path) -> dict[str, int]:
    """CPUs that every running attempt was given; a file may be empty while it is written."""
    found = {}
    for name, run in cluster.runs(directory).items():
        if (text := (run / "cpus").read_text()) and (run / "claim").exists():
            found[name] = int(text)
    return found


def _changed(before: Mapping[str, int], now: Mapping[str, int]) -> bool:
    """Each has other CPUs; one gets them before the other."""
    return now.keys() == before.keys() and all(now[name] != before[name] for name in before)


def _at_home(argv: tuple[str, ...]) -> tuple[str, ...]:
    return (str(EXAMPLES / argv[0]), *argv[1:])


def _node(directory: Path, join_token: str) -> EmulatedNode:
    devices = directory / "node.toml"
    devices.write_text(NODE)
    return EmulatedNode("node-1", join_token, devices)
