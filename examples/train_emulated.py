"""A training on an emulated GPU: its speed follows its clock and CPUs by a formula that is known.

A batch is prepared by the CPUs while the GPU computes the one before it, so a step takes the longer
of the two. A GPU computes faster at a higher clock, but for what waits for memory; CPUs share the
preparing, but for what only one can do. More GPUs share a batch, and then exchange gradients.
A GPU that does not compute waits and draws less: the emulated one learns it from `busy`.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import fairwatt_progress as progress


def step_s(given: argparse.Namespace, gpus: int, clock_mhz: float, cpus: float) -> float:
    """Seconds; `cpus` are those of all its GPUs together."""
    exchange_s = given.exchange_s * (gpus > 1)
    prepare_s = (given.prepare_s / cpus * gpus + given.serial_s) / gpus
    return float(max(compute_s(given, gpus, clock_mhz) + exchange_s, prepare_s))


def compute_s(given: argparse.Namespace, gpus: int, clock_mhz: float) -> float:
    """Of a step: as long as each GPU computes."""
    slower = given.reference_mhz / clock_mhz
    return float((given.memory_s + given.compute_s * slower) / gpus)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--steps", type=int, default=100_000)
    made.add_argument("--compute-s", type=float, default=0.08, help="of a step, in clock cycles")
    made.add_argument("--memory-s", type=float, default=0.02, help="whatever the clock")
    made.add_argument("--prepare-s", type=float, default=0.5, help="of one CPU, shared by all")
    made.add_argument("--serial-s", type=float, default=0.01, help="of preparing, by one alone")
    made.add_argument("--exchange-s", type=float, default=0.015, help="with other GPUs")
    made.add_argument("--reference-mhz", type=float, default=1410, help="its highest clock")
    return made


def told(variable: str, otherwise: float) -> float:
    """What the agent has written just now; it may be in the middle of writing."""
    try:
        return float(Path(os.environ[variable]).read_text()) or otherwise
    except (KeyError, OSError, ValueError):
        return otherwise


def main() -> int:
    given = parser().parse_args()
    gpus = int(os.environ.get("FAIRWATT_GPUS", "1"))
    state = progress.restore({"step": 0})
    due_s = time.monotonic()
    while state["step"] < given.steps:
        clock_mhz = told("FAIRWATT_CLOCK_FILE", given.reference_mhz)
        cpus = told("FAIRWATT_CPUS_FILE", float(os.cpu_count() or 1))
        # By appointment, so that a late wake-up is made good by the next.
        takes_s = step_s(given, gpus, clock_mhz, cpus)
        due_s = max(due_s + takes_s, time.monotonic() - 1.0)
        time.sleep(max(0.0, due_s - time.monotonic()))
        state["step"] += 1
        progress.report(step=state["step"], busy=compute_s(given, gpus, clock_mhz) / takes_s)
        if progress.stop_asked():
            progress.save(state)
            return 143
    return 0


if __name__ == "__main__":
    sys.exit(main())
