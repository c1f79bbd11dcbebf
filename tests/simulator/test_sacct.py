"""Slurm's accounting: what is used of it, what is left out, and that nothing in it is a crash."""

import random
from pathlib import Path

import numpy as np
import pytest

from policies.contract.snapshot import ANY_GPU_TYPE
from simulator.traces.rows import TraceError
from simulator.traces.sacct import Accounting, accounting

HEADER = "JobID|User|Account|Partition|State|Submit|Eligible|Start|End|ElapsedRaw|AllocTRES|JobName"
GOOD = (
    "7|ann|lab|gpu|COMPLETED|2024-03-01T12:00:00|2024-03-01T12:00:00|2024-03-01T12:10:00"
    "|2024-03-01T12:20:00|600|cpu=8,gres/gpu:a100=4,gres/gpu=4,node=1|train"
)


def read(tmp_path: Path, *lines: str, header: str = HEADER, zone: str = "UTC") -> Accounting:
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join([header, *lines]) + "\n")
    return accounting(path, zone)


def changed(**cells: str) -> str:
    names = HEADER.split("|")
    given = dict(zip(names, GOOD.split("|"), strict=True))
    return "|".join((given | cells)[name] for name in names)


def test_a_job_with_its_start_type_and_nodes(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD, zone="Europe/Berlin")
    assert found.trace.jobs.submitted_s.tolist() == [1_709_290_800.0]
    assert found.started_s().tolist() == [1_709_291_400.0]
    assert found.trace.jobs.work.tolist() == [600]
    assert (found.trace.tenants, found.trace.gpu_types) == (("lab",), ("a100",))
    assert (found.jobs[0].id, found.jobs[0].nodes) == ("7", 1)


def test_steps_are_left_out_and_arrays_kept(tmp_path: Path) -> None:
    ids = ("7", "7.batch", "7.extern", "7.0", "8_1", "8_2", "9+0")
    found = read(tmp_path, *(changed(JobID=name) for name in ids))
    assert [job.id for job in found.jobs] == ["7", "8_1", "8_2", "9+0"]
    assert dict(found.report.skipped) == {"that are steps of a job": 3}


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ({"State": "PENDING"}, "that never started"),
        ({"State": "CANCELLED by 1000", "Start": "None"}, "that never started"),
        ({"ElapsedRaw": "0", "Start": "Unknown"}, "that ran for no time"),
        ({"AllocTRES": "cpu=4,mem=8G"}, "without GPUs"),
        ({"AllocTRES": "gres/gpu:a100=2,gres/gpu:v100=1"}, "with GPUs of several types"),
        ({"State": "DREAMING"}, "with a bad State"),
        ({"Submit": "yesterday"}, "with a bad Submit"),
        ({"Submit": "1970-01-01T00:00:00"}, "with a bad Submit"),
        ({"Start": "2024-02-01T00:00:00"}, "with a bad Start"),
        ({"ElapsedRaw": "nan"}, "with a bad ElapsedRaw"),
        ({"ElapsedRaw": "99999999999999"}, "with a bad End"),
        ({"AllocTRES": "gres/gpu=99999999999999999999"}, "with a bad AllocTRES"),
        ({"JobName": "a|b"}, "with a bad line"),
    ],
)
def test_what_is_left_out_is_counted(tmp_path: Path, cells: dict[str, str], why: str) -> None:
    found = read(tmp_path, GOOD, changed(**cells), GOOD)
    assert dict(found.report.skipped) == {why: 1}
    assert len(found.jobs) == 2
    if "bad" in why:
        assert f"{tmp_path / 'sacct.txt'}:3: " in found.report.problems[0]


def test_a_job_arrives_when_it_is_eligible(tmp_path: Path) -> None:
    found = read(tmp_path, changed(Eligible="2024-03-01T12:05:00"), changed(Eligible="Unknown"))
    assert np.diff(found.trace.jobs.submitted_s).tolist() == [300.0]


def test_a_running_job_counts_as_far_as_it_has_come(tmp_path: Path) -> None:
    found = read(tmp_path, changed(State="RUNNING", End="Unknown"))
    assert (found.jobs[0].running, found.trace.jobs.work.tolist()) == (True, [600])


def test_a_quote_in_a_name_swallows_no_line(tmp_path: Path) -> None:
    assert len(read(tmp_path, changed(JobName='"'), GOOD, changed(JobName='x"y')).jobs) == 3


def test_the_end_says_how_long_where_no_seconds_are_given(tmp_path: Path) -> None:
    header = "JobID|User|State|Submit|Start|End|ReqTRES|TimelimitRaw"
    line = "1|ann|FAILED|2024-03-01T12:00:00|2024-03-01T12:00:00|2024-03-01T13:00:00|gres/gpu=1|90"
    found = read(tmp_path, line, header=header)
    assert found.trace.jobs.work.tolist() == [3600]
    assert found.trace.jobs.gpu_types.tolist() == [ANY_GPU_TYPE]
    assert (found.trace.tenants, found.limit_s().tolist()) == (("ann",), [5400.0])


@pytest.mark.parametrize("header", ["", "JobID|State", HEADER.replace("AllocTRES", "Tres")])
def test_a_missing_column_is_named(tmp_path: Path, header: str) -> None:
    with pytest.raises(TraceError, match="expected a column of that name"):
        read(tmp_path, GOOD, header=header)


def test_no_line_is_a_crash(tmp_path: Path) -> None:
    """Lines cut, doubled and with bytes changed: each is used or counted, and none lost."""
    draw = random.Random(5)
    lines = []
    for _ in range(2000):
        text = bytearray(GOOD.encode())
        for _ in range(draw.randrange(4)):
            text[draw.randrange(len(text))] = draw.choice(b"0123456789|=:-,. \x00\xffNaI\"'")
        lines.append(bytes(text[: draw.choice([len(text), draw.randrange(1, len(text))])]))
    path = tmp_path / "sacct.txt"
    path.write_bytes(b"\n".join([HEADER.encode(), *lines]))
    report = accounting(path).report
    assert report.used + sum(report.skipped.values()) == sum(bool(x.strip()) for x in lines)
    assert 100 < report.used < 1900


def test_more_gpu_types_than_a_mask_holds_are_counted(tmp_path: Path) -> None:
    found = read(tmp_path, *(changed(AllocTRES=f"gres/gpu:t{n}=1") for n in range(80)))
    assert (len(found.jobs), dict(found.report.skipped)) == (60, {"with a bad AllocTRES": 20})
