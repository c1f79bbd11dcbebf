"""State of every job as columns, from which the live ones are taken at once for a snapshot."""

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from policies.contract.columns import F64, I32, I64, U8, U64, Bool
from policies.contract.snapshot import JobTable
from simulator.costs import Costs
from simulator.workload import Workload

G = TypeVar("G", bound=np.generic)

# Rows of one block, so that a snapshot takes the live jobs of all columns in one operation.
_SEEN_F64 = (
    "submitted_s", "deadline_s", "tardiness_weight", "work_total", "work_left", "attained_gpu_s",
    "est_total_s", "est_run_s", "started_s", "checkpoint_s", "restart_cost_s", "min_run_s",
)  # fmt: skip
_HIDDEN_F64 = ("done", "rate", "since_s", "resumes_s", "s_per_work", "believed")
_I32 = (
    "tenant", "profile", "partition", "priority", "min_gpus", "max_gpus", "cpus_per_gpu",
    "clock_mhz", "held_gpus", "piece_count",
)  # fmt: skip
_SEEN_I32 = _I32[:8]
_U8 = ("state", "blocked", "span", "preemptible")
_HELD_GPUS = _I32.index("held_gpus")


def fixed(values: npt.NDArray[G]) -> npt.NDArray[G]:
    """The same array, which policies can not write to."""
    values.flags.writeable = False
    return values


class JobColumns:
    """`believed` is what policies believe of the work; `work` is the truth.

    A running job has done `done` work when it `resumes_s`, and `rate` per second from then on; it
    has held `held_gpus` since `since_s`. `work_left` and `est_run_s` are what policies are told
    beside what follows from these: nothing, but in a world that began as somebody else's.
    """

    submitted_s: F64
    work_total: F64
    work_left: F64
    est_total_s: F64
    est_run_s: F64
    min_run_s: F64
    attained_gpu_s: F64
    restart_cost_s: F64
    started_s: F64
    checkpoint_s: F64
    done: F64
    rate: F64
    since_s: F64
    resumes_s: F64
    s_per_work: F64
    believed: F64
    clock_mhz: I32
    held_gpus: I32
    piece_count: I32
    state: U8

    def __init__(
        self, jobs: Workload, believed_work: F64, asked_rate: F64, costs: Costs, origin_s: float
    ) -> None:
        count = len(jobs)
        self.work = jobs.work
        self.costs = costs
        self._origin_s = origin_s
        self.id: I64 = np.arange(count)
        self.live: Bool = np.zeros(count, np.bool_)
        # No job of a trace is held or depends on another: Blocked.NO is 0, as JobState.QUEUED is.
        self._u8: U8 = np.zeros((len(_U8), count), np.uint8)
        self._u8[_U8.index("span")] = jobs.span
        self._u8[_U8.index("preemptible")] = jobs.preemptible
        self.state = self._u8[_U8.index("state")]
        self._u64: U64 = np.stack([jobs.gpu_types, jobs.mem_mib_per_gpu.view(np.uint64)])
        self._f64: F64 = np.zeros((len(_SEEN_F64) + len(_HIDDEN_F64), count))
        self._i32: I32 = np.zeros((len(_I32), count), np.int32)
        for at, name in enumerate((*_SEEN_F64, *_HIDDEN_F64)):
            setattr(self, name, self._f64[at])
        for at, name in enumerate(_I32):
            setattr(self, name, self._i32[at])
        self._fill(jobs, believed_work, asked_rate, origin_s)

    def _fill(self, jobs: Workload, believed: F64, asked_rate: F64, origin_s: float) -> None:
        given = {
            "submitted_s": jobs.submitted_s,
            "deadline_s": jobs.deadline_s,
            "tardiness_weight": jobs.tardiness_weight,
            "work_total": believed,
            "believed": believed,
            "est_total_s": believed / asked_rate,
            "s_per_work": 1.0 / asked_rate,
            "started_s": np.nan,
            "checkpoint_s": np.nan,
            "since_s": origin_s,
            "resumes_s": origin_s,
            "tenant": jobs.tenant,
            "profile": jobs.profile,
            "partition": jobs.partition,
            "priority": jobs.priority,
            "min_gpus": jobs.gpus,
            "max_gpus": jobs.max_gpus,
            "cpus_per_gpu": jobs.cpus_per_gpu,
        }
        for name, values in given.items():
            getattr(self, name)[:] = values
        self.restart_cost_s[:] = self.costs.restart_s
        if self.costs.saves_on_stop:
            self.restart_cost_s += self.costs.checkpoint_s

    def table(self, rows: I64, now_s: float) -> JobTable:
        """The live jobs `rows` as policies see them."""
        # Rows are in range: with "clip" nothing is checked once more.
        numbers = self._f64.take(rows, axis=1, mode="clip")
        whole = self._i32.take(rows, axis=1, mode="clip")
        small = self._u8.take(rows, axis=1, mode="clip")
        large = self._u64.take(rows, axis=1, mode="clip")
        seen = dict(zip(_SEEN_F64, numbers, strict=False))
        done, rate, since_s, resumes_s, s_per_work, believed = numbers[len(_SEEN_F64) :]
        held_gpus = whole[_HELD_GPUS]
        progress_s = np.maximum(now_s - resumes_s, 0.0)
        left = believed - (done + rate * progress_s)
        for name, ahead in (("work_left", left), ("est_run_s", left * s_per_work)):
            np.maximum(seen[name] + ahead, 0.0, out=seen[name])
        seen["attained_gpu_s"] += held_gpus * (now_s - since_s)
        self._checkpoints(seen["checkpoint_s"], progress_s, resumes_s, held_gpus > 0, now_s)
        # Views taken from here on can not be written to.
        for block in (numbers, whole, small, large):
            fixed(block)
        state, blocked, span, preemptible = small
        return JobTable(
            id=rows,
            state=state,
            blocked=blocked,
            gpu_types=large[0],
            mem_mib_per_gpu=large[1].view(np.int64),
            span=span,
            preemptible=preemptible.view(np.bool_),
            **dict(zip(_SEEN_F64, numbers, strict=False)),
            **dict(zip(_SEEN_I32, whole, strict=False)),
        )

    def _checkpoints(
        self, out: F64, progress_s: F64, resumes_s: F64, running: Bool, now_s: float
    ) -> None:
        """When a running job's work was, or if stopped now would be, last safe."""
        if self.costs.saves_on_stop:
            out[running] = now_s
        else:
            every_s = self.costs.checkpoint_every_s
            whole_s = np.floor(progress_s / every_s) * every_s if np.isfinite(every_s) else 0.0
            # What runs since before the world began was last safe when it says so itself.
            ours = running & ((resumes_s > self._origin_s) | np.isnan(out))
            np.copyto(out, resumes_s + whole_s, where=ours)

    def done_at(self, row: int, now_s: float) -> float:
        """True work done by a job, running or not."""
        progress_s = max(now_s - float(self.resumes_s[row]), 0.0)
        return min(
            float(self.done[row]) + float(self.rate[row]) * progress_s, float(self.work[row])
        )
