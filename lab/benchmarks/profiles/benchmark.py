"""How well a profile predicts what was never measured, of a program whose true speed is known.

Real agents with emulated GPUs run `examples/train_emulated.py`: first a profiling run, then three
attempts that only do their work. Its formula says what every configuration would really do.
"""

import sys
import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import httpx

from agent.devices.catalogue import load
from lab.benchmarks.figures import figure
from lab.benchmarks.harness.cluster import joinable
from lab.benchmarks.harness.service import EXAMPLES, stack
from lab.benchmarks.harness.waiting import ready_nodes, until

EXAMPLE = EXAMPLES / "train_emulated.py"
GPU = load(EXAMPLES / "node-a100.toml").kinds[0]
CLUSTER, NODES = "bench", 2
CPUS_PER_GPU = 32
# (GPUs, CPUs per GPU, steps): about half a minute each, at the highest clock.
ATTEMPTS = ((1, 3, 180), (2, 6, 450), (4, 8, 750))
PATIENCE_S = 1200.0
Configuration = tuple[int, int, int]


def main(database_url: str) -> None:
    sys.path.insert(0, str(EXAMPLE.parent))
    made = joinable(CLUSTER, nodes=NODES, round_interval_s=2)
    nodes = [
        {"name": f"emulated-{number}", "devices": "../node-a100", "join_token": token}
        for number, token in enumerate(made.join_tokens)
    ]
    with stack(database_url, nodes) as service, service.client(made.tenant_token) as http:
        measure(http)


def measure(http: httpx.Client) -> None:
    made = http.post("/api/v1/profiles/", json={"name": "emulated"}).raise_for_status().json()
    profile = f"/api/v1/profiles/{made['id']}/"
    run = profiled(http, profile)
    seen = {(1, point["clock_mhz"], point["cpus"]) for point in run["measured"]}
    figure("profiles", "profiling run", "configurations", len(run["measured"]), "configurations")
    figure("profiles", "profiling run", "minutes", minutes(run), "min", at_most=15)
    report(http, profile, "profiling run, 1 GPU", unseen((1,), seen), bar=10)
    attempted(http, profile)
    seen |= {(gpus, GPU.model.clocks_mhz[-1], cpus) for gpus, cpus, _ in ATTEMPTS}
    report(http, profile, "three attempts, 1 GPU", unseen((1,), seen), bar=5)
    report(http, profile, "three attempts, 1 to 4 GPUs", unseen((1, 2, 3, 4), seen), bar=5)
    # Twice the most that was tried: predictions say so, and have a wider interval.
    report(http, profile, "three attempts, 8 GPUs (extrapolated)", unseen((8,), seen), bar=5)


def profiled(http: httpx.Client, profile: str) -> dict[str, Any]:
    argv = [sys.executable, str(EXAMPLE)]
    body = {"cluster": CLUSTER, "argv": argv, "cpus": CPUS_PER_GPU, "memory_mib": 1024}
    until(lambda: ready_nodes(http) == NODES, "nodes are ready")
    http.post(f"{profile}runs/", json=body).raise_for_status()

    def newest() -> dict[str, Any]:
        found: dict[str, Any] = http.get(f"{profile}runs/").raise_for_status().json()["items"][0]
        return found

    until(
        lambda: newest()["ended_at"] is not None,
        "the run has ended",
        jobs_at=http,
        longest_s=PATIENCE_S,
        pause_s=1.0,
    )
    run = newest()
    if run["state"] != "succeeded":
        raise RuntimeError(f"the profiling run failed: {run}")
    return run


def attempted(http: httpx.Client, profile: str) -> None:
    """Until the last attempt has ended and what it taught is fitted."""
    jobs = [
        {
            "name": f"attempt on {gpus}",
            "cluster": CLUSTER,
            "profile": "emulated",
            "argv": [sys.executable, str(EXAMPLE), "--steps", str(steps)],
            "gpus": gpus,
            "span": "node",
            "cpus_per_gpu": cpus,
            "work_total": steps,
        }
        for gpus, cpus, steps in ATTEMPTS
    ]
    ids = [http.post("/api/v1/jobs/", json=job).raise_for_status().json()["id"] for job in jobs]
    until(
        lambda: all(state_of(http, job_id) == "succeeded" for job_id in ids),
        "jobs have succeeded",
        jobs_at=http,
        longest_s=PATIENCE_S,
        pause_s=1.0,
    )

    def learned() -> bool:
        points = http.get(f"{profile}points/?source=learned").raise_for_status().json()["items"]
        fit = http.get(profile).raise_for_status().json()["fit"]
        final = [point for point in points if point["measured_at"] <= fit["made_at"]]
        return len({point["attempt_id"] for point in final}) == len(ids)

    until(learned, "they are learned from", longest_s=PATIENCE_S, pause_s=1.0)
    # Points are written while an attempt runs and once more after its end.
    time.sleep(25)


def unseen(counts: tuple[int, ...], seen: set[Configuration]) -> Iterator[Configuration]:
    """Every configuration that nobody tried, within the clocks and CPUs that were swept."""
    cpus = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32)
    for configuration in product(counts, GPU.model.clocks_mhz, cpus):
        if configuration not in seen:
            yield configuration


def report(
    http: httpx.Client,
    profile: str,
    case: str,
    where: Iterator[Configuration],
    *,
    bar: float,
) -> None:
    speed, watts, held = [], [], []
    for gpus, clock, cpus in where:
        asked: dict[str, str | int] = {
            "gpu_type": GPU.type_name,
            "gpus": gpus,
            "clock": clock,
            "cpus": cpus,
        }
        predicted = http.get(f"{profile}predict/", params=asked).raise_for_status().json()
        per_s, drawn_w = true_speed(gpus, clock, cpus), true_watts(gpus, clock, cpus)
        speed.append(abs(predicted["steps_per_s"] / per_s - 1) * 100)
        watts.append(abs(predicted["watts_per_gpu"] / drawn_w - 1) * 100)
        held += [
            predicted["low"] <= per_s <= predicted["high"],
            predicted["low_w"] <= drawn_w <= predicted["high_w"],
        ]
    for metric, errors in (("speed", speed), ("watts", watts)):
        figure("profiles", case, f"{metric}_mean_error", sum(errors) / len(errors), "%")
        figure("profiles", case, f"{metric}_worst_error", max(errors), "%", at_most=bar)
    figure("profiles", case, "intervals_that_hold", 100 * sum(held) / len(held), "%")
    figure("profiles", case, "unseen", len(speed), "configurations")


def true_speed(gpus: int, clock_mhz: int, cpus_per_gpu: int) -> float:
    import train_emulated as example  # noqa: PLC0415  # beside the scripts, not in a room

    given = example.parser().parse_args([])
    return 1 / example.step_s(given, gpus, clock_mhz, gpus * cpus_per_gpu)


def true_watts(gpus: int, clock_mhz: int, cpus_per_gpu: int) -> float:
    import train_emulated as example  # noqa: PLC0415  # beside the scripts, not in a room

    compute_s = example.compute_s(example.parser().parse_args([]), gpus, clock_mhz)
    busy = compute_s * true_speed(gpus, clock_mhz, cpus_per_gpu)
    return GPU.model.power_mw(clock_mhz, GPU.load, busy) / 1000


def minutes(run: dict[str, Any]) -> float:
    began, ended = (time.mktime(time.strptime(run[at][:19], "%Y-%m-%dT%H:%M:%S"))
                    for at in ("began_at", "ended_at"))  # fmt: skip
    return (ended - began) / 60


def state_of(http: httpx.Client, job_id: int) -> str:
    return str(http.get(f"/api/v1/jobs/{job_id}/").raise_for_status().json()["state"])
