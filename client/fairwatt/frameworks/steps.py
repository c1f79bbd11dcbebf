"""What the callbacks of all frameworks do: report steps now and then, and leave when asked to."""

import time

from fairwatt import in_job

# A line per step of a fast training would be a file of gigabytes.
EVERY_S = 1.0


class StepReporter:
    """Reports the newest step at most once in `every_s`; only one process of a gang should."""

    def __init__(self, *, first_process: bool = True, every_s: float = EVERY_S) -> None:
        self._speaks, self._every_s = first_process, every_s
        self._spoke_s = float("-inf")
        in_job.preempted()

    def step(self, step: int, *, last: bool = False) -> bool:
        """Whether the scheduler wants the GPUs back: save and leave."""
        now_s = time.monotonic()
        if self._speaks and (last or now_s - self._spoke_s >= self._every_s):
            self._spoke_s = now_s
            in_job.progress(step)
        return in_job.preempted()

    def saved(self, step: int) -> None:
        if self._speaks:
            in_job.checkpoint(step=step)
