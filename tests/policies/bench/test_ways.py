"""The table of ways: what jobs permit of it, its ragged rows, and measured speeds."""

import numpy as np
import pytest

from policies.bench.ways import WayColumns, Ways, pools, relative_speed
from tests.policies.synergy.tables import IMAGE, SPEECH, seen, wants
from tests.policies.worlds import Node, World, queued


def columns(*ways: tuple[int, int, int]) -> WayColumns:
    """Of (job, GPU type, GPUs), each of ten seconds."""
    job, kind, gpus = (np.array(each, np.int64) for each in zip(*ways, strict=True))
    seconds = np.full(len(job), 10.0)
    return WayColumns(job, kind, gpus, np.zeros(len(job), np.int32), seconds, seconds)


def test_jobs_permit_their_types_and_counts() -> None:
    jobs = [queued(1), queued(2, gpu_types=0b10)]
    jobs[1].max_gpus = 4
    snapshot = World([Node()], jobs, gpu_types=("A100", "H100")).snapshot()
    told = columns((0, 0, 1), (0, 1, 2), (1, 0, 2), (1, 1, 1), (1, 1, 2), (1, 1, 4), (1, 1, 8))
    left = told.permitted(snapshot, np.array([0, 1]))
    assert list(zip(left.job, left.gpu_type, left.gpus, strict=True)) == [
        (0, 0, 1),
        (1, 1, 2),
        (1, 1, 4),
    ]
    other_way_round = told.permitted(snapshot, np.array([1, 0]))
    assert other_way_round.gpus.tolist() == [2, 1]


def test_ways_are_put_beside_each_other() -> None:
    both = columns((0, 0, 1)).beside(columns((1, 0, 2)))
    assert both.gpus.tolist() == [1, 2]
    assert both.only(np.array([1])).job.tolist() == [1]
    assert len(WayColumns.none().beside(both).run_s) == 2


def test_a_ragged_row_has_its_least() -> None:
    run_s = np.array([3.0, 1.0, 2.0])
    one = np.ones(3, np.int64)
    ways = Ways(
        first=np.array([0, 2, 3]),
        pool=one,
        gpu_type=one,
        gpus=one,
        clock_mhz=one.astype(np.int32),
        run_s=run_s,
        watts=run_s,
        stays=one > 1,
    )
    assert ways.job().tolist() == [0, 0, 1]
    assert ways.least(run_s).tolist() == [1.0, 2.0]
    assert ways.least(-run_s).tolist() == [-3.0, -2.0]
    assert ways.least(np.empty(0)).tolist() == []


def test_pools_number_types_within_partitions_and_no_partition_last() -> None:
    snapshot = World([], [], partitions=[False, True], gpu_types=("A", "B", "C")).snapshot()
    found = pools(snapshot, np.array([0, 1, -1], np.int32), np.array([2, 0, 1], np.int32))
    assert found.tolist() == [2, 3, 7]


@pytest.mark.parametrize(
    ("profile", "cpus", "mem_mib", "speed"),
    [
        (IMAGE, 3, 1000, 1.0),
        (IMAGE, 5, 1999, 1.0),
        (IMAGE, 6, 1000, 1.7),
        (IMAGE, 100, 10_000, 2.4),
        (IMAGE, 0, 0, 0.1),
        (SPEECH, 6, 2000, 2.0),
    ],
)
def test_speed_is_that_of_the_largest_measured_point_within(
    profile: int, cpus: int, mem_mib: int, speed: float
) -> None:
    snapshot = seen(World([Node()], [wants(1, profile)]))
    found = relative_speed(snapshot, np.arange(1), np.array([cpus]), np.array([mem_mib]))
    assert found.tolist() == [speed]
