"""A job for emulated nodes: counts steps, the faster the more GPUs it has, and resumes at its step.

Run by agents, by its path: it imports nothing of ours but the progress helper.
"""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))

import fairwatt_progress as progress

PAUSE_S = 0.25
# As the profile says: twice the GPUs are not twice as fast.
SCALING = 0.9


def main() -> int:
    steps, steps_per_s = int(sys.argv[1]), float(sys.argv[2])
    rate = steps_per_s * int(os.environ["FAIRWATT_GPUS"]) ** SCALING
    state = progress.restore({"step": 0})
    first, begun_s = state["step"], time.monotonic()
    sys.stdout.write(f"starting at step {first}\n")
    while state["step"] < steps:
        time.sleep(PAUSE_S)
        state["step"] = min(steps, first + int(rate * (time.monotonic() - begun_s)))
        progress.report(step=state["step"])
        if progress.stop_asked():
            progress.save(state)
            return 143
    return 0


if __name__ == "__main__":
    sys.exit(main())
