"""400 jobs of `true` on 4 nodes of 8 GPUs: Fairwatt, and in the same run a real Slurm beside it."""

import sys

from lab.benchmarks.figures import figure
from lab.benchmarks.short_jobs import fairwatt, slurm
from lab.benchmarks.short_jobs.cost import Cost

JOBS, SINGLES = 400, 20
START_P50_S, CPU_RATIO, WALL_RATIO = 0.25, 2.0, 1.0
CASE = f"{JOBS} jobs of true, 4 nodes of 8 GPUs"


def main(database_url: str) -> None:
    ours = fairwatt.measure(database_url, JOBS, SINGLES)
    _figures("fairwatt", ours)
    p50_s = ours.starts_s[len(ours.starts_s) // 2]
    figure("short_jobs", "one at a time", "start_p50_s", p50_s, "s", at_most=START_P50_S)
    if reason := slurm.why_not():
        sys.stderr.write(f"short_jobs: no Slurm to compare with: {reason}\n")
        return
    theirs = slurm.measure(JOBS)
    _figures("slurm", theirs)
    figure("short_jobs", CASE, "wall_ratio", ours.wall_s / theirs.wall_s, "of Slurm's",
           at_most=WALL_RATIO)  # fmt: skip
    figure("short_jobs", CASE, "cpu_ratio", ours.cpu_s / theirs.cpu_s, "of Slurm's",
           at_most=CPU_RATIO)  # fmt: skip


def _figures(who: str, cost: Cost) -> None:
    figure("short_jobs", f"{who}, {CASE}", "submit_to_all_ended_s", cost.wall_s, "s")
    figure("short_jobs", f"{who}, {CASE}", "cpu_ms_per_job", _per_job_ms(cost, cost.cpu_s), "ms")
    for part, cpu_s in sorted(cost.parts_s.items()):
        value = _per_job_ms(cost, cpu_s)
        figure("short_jobs", f"{who}, {CASE}", f"cpu_ms_per_job, {part}", value, "ms")


def _per_job_ms(cost: Cost, cpu_s: float) -> float:
    return 1000 * cpu_s / cost.jobs
