"""How fast the simulator is, and how much memory it takes; a process for every case.

Seconds are of CPU: a run uses one core, and busy neighbours should not colour its figure.
"""

import resource
import subprocess
import sys
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np

from lab.benchmarks.figures import figure
from policies.registry import build as build_policy
from simulator.engine import Engine, Pace
from simulator.generate.draw import draw_trace
from simulator.generate.model import load_model
from simulator.machines import Machines, NodeKind, build
from simulator.scenario.files import data_directory
from simulator.setting import Setting, plain_setting
from simulator.traces.clusters import philly

ROUNDS = Pace(interval_s=300.0, on_events=False)
EVENTS = Pace()
SMALL, LARGE = 20_000, 80_000
GROWTH_BAR = 1.3
MEMORY_BAR_MIB = 1_500
PHILLY_BARS = {"fifo": 5_000, "srtf": 1_000, "las": 1_000}
# What a public simulator of the same design reaches on as many jobs and GPUs.
EVENT_BARS = {"fifo": 2_600, "las": 390}


class MeasuredRun(NamedTuple):
    jobs_per_s: float
    peak_mib: float


def philly_setting() -> Setting:
    """The whole trace, 82,247 jobs, on 2,490 GPUs; reading the file is not counted."""
    trace, _ = philly(data_directory() / "philly" / "philly.csv.gz")
    nodes = [NodeKind(count=311, gpus=8, per_rack=8, per_switch=8), NodeKind(count=1, gpus=2)]
    jobs = trace.jobs.but(partition=np.full(len(trace.jobs), -1))
    return plain_setting(jobs, build(nodes), tenant_names=trace.tenants)


def generated_setting(jobs: int, machines: Machines, load: float) -> Setting:
    trace = draw_trace(
        load_model("philly"), jobs=jobs, gpus=machines.gpus, load=load, arrivals="poisson", seed=0
    )
    return plain_setting(trace.jobs, machines)


def analysim_machines() -> Machines:
    return build([NodeKind(count=128, gpus=8, per_rack=8, per_switch=8)])


def run(case: str, policy: str) -> MeasuredRun:
    if case == "philly":
        setting, pace = philly_setting(), ROUNDS
    elif case == "events":
        # Long jobs outlive the arrivals, so that only a high load makes a queue within 5,000 jobs.
        setting, pace = generated_setting(5_000, analysim_machines(), 4.0), EVENTS
    else:
        setting, pace = generated_setting(int(case), analysim_machines(), 0.7), ROUNDS
    engine = Engine(setting, build_policy(policy, {}), pace)
    began = process_time()
    outcome = engine.run()
    seconds = process_time() - began
    if np.isnan(outcome.finished_s).any():
        raise RuntimeError(f"{case} under {policy} left jobs unfinished")
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return MeasuredRun(len(setting.jobs) / seconds, peak_kib / 1024)


def in_child(case: str, policy: str) -> MeasuredRun:
    command = [sys.executable, "-m", "lab.benchmarks.simulator", case, policy]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    jobs_per_s, peak_mib = map(float, answer.split())
    return MeasuredRun(jobs_per_s, peak_mib)


def main() -> None:
    if not Path(data_directory() / "philly").is_dir():
        sys.stderr.write("no Philly trace in FAIRWATT_DATA: its figures are left out\n")
    else:
        for policy, bar in PHILLY_BARS.items():
            found = in_child("philly", policy)
            case = f"philly/2490/300s/{policy}"
            figure("simulator", case, "jobs_per_s", found.jobs_per_s, "jobs/s", at_least=bar)
            figure("simulator", case, "peak", found.peak_mib, "MiB", at_most=MEMORY_BAR_MIB)
    for policy, bar in EVENT_BARS.items():
        found = in_child("events", policy)
        case = f"event-driven/1024/5000/{policy}"
        figure("simulator", case, "jobs_per_s", found.jobs_per_s, "jobs/s", at_least=bar)
    for policy in PHILLY_BARS:
        small, large = in_child(str(SMALL), policy), in_child(str(LARGE), policy)
        growth = small.jobs_per_s / large.jobs_per_s
        case = f"growth/{SMALL}-{LARGE}/{policy}"
        figure("simulator", case, "over_linear", growth, "ratio", at_most=GROWTH_BAR)


if __name__ == "__main__":
    measured = run(*sys.argv[1:])
    print(measured.jobs_per_s, measured.peak_mib)
