"""Two live jobs share an emulated node: do their speeds follow their CPUs as foretold, in place?

One is bound by the CPUs that prepare its batches, the other by its GPU. First both have their
proportional shares, then Synergy tunes them; nothing restarts in between.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from benchmarks.emulated import ROOT, Emulated, agents, service
from benchmarks.figures import figure
from benchmarks.service import database
from benchmarks.waiting import until

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
type = "V100"
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
    """The formula of the examples, which is also what the profiles say."""
    return 1 / (max(COMPUTE_S, PREPARE_S / cpus) if name == "cpu-bound" else GPU_BOUND_S)


def main() -> None:
    with database() as url, service(url) as (address, directory):
        from benchmarks import synergy_live_world as world  # noqa: PLC0415  # needs Django set up

        with agents([_node(directory, world.seed())], address, directory):
            until(world.ready, "the node is ready")
            world.submit({name: [sys.executable, *_at_home(argv)] for name, argv in JOBS.items()})
            world.hold_round("proportional")
            until(lambda: len(_told(directory, world)) == len(JOBS), "both jobs run")
            before = _told(directory, world)
            report("proportional", before, _measured(directory, world))
            pids = world.pids(directory)
            world.hold_round("tune")
            until(lambda: _told(directory, world) != before, "the CPUs have changed")
            report("tune", _told(directory, world), _measured(directory, world))
            same = world.pids(directory) == pids and world.attempts() == len(JOBS)
            figure("synergy-live", CASE, "restarts", float(not same), "jobs", at_most=0)


def report(phase: str, cpus: Mapping[str, int], lived: Mapping[str, float]) -> None:
    foretold = {name: steps_per_s(name, cpus[name]) for name in JOBS}
    for name in JOBS:
        case = f"{CASE} {phase} {name} on {cpus[name]} CPUs"
        figure("synergy-live", case, "steps", lived[name], "1/s")
        off_pct = 100 * abs(lived[name] - foretold[name]) / foretold[name]
        figure("synergy-live", case, "steps_off", off_pct, "%", at_most=BAR_PCT)
    total, expected = sum(lived.values()), sum(foretold.values())
    off_pct = 100 * abs(total - expected) / expected
    figure("synergy-live", f"{CASE} {phase}", "total_off", off_pct, "%", at_most=BAR_PCT)


def _measured(directory: Path, world: Any) -> dict[str, float]:
    """Steps per second between the first and the last step that were seen to end."""
    seen: dict[str, list[tuple[float, int]]] = {name: [] for name in JOBS}
    ends_s = monotonic() + WATCHED_S
    while monotonic() < ends_s:
        for name, run in world.runs(directory).items():
            steps = _steps(run / "progress.jsonl")
            if not seen[name] or seen[name][-1][1] != steps:
                seen[name].append((monotonic(), steps))
        sleep(0.01)
    # The first look fell somewhere into a step.
    return {
        name: (looks[-1][1] - looks[1][1]) / (looks[-1][0] - looks[1][0])
        for name, looks in seen.items()
    }


def _steps(path: Path) -> int:
    return sum("step" in json.loads(line) for line in path.read_text().splitlines() if line)


def _told(directory: Path, world: Any) -> dict[str, int]:
    """CPUs as every running attempt is told; a file may be empty while it is written."""
    found = {}
    for name, run in world.runs(directory).items():
        if (text := (run / "cpus").read_text()) and (run / "claim").exists():
            found[name] = int(text)
    return found


def _at_home(argv: tuple[str, ...]) -> tuple[str, ...]:
    return (str(ROOT / "examples" / argv[0]), *argv[1:])


def _node(directory: Path, join_token: str) -> Emulated:
    devices = directory / "node.toml"
    devices.write_text(NODE)
    return Emulated("node-1", join_token, devices)


if __name__ == "__main__":
    main()
