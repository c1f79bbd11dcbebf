"""Every reader, on small files in the published layout: what is used, what is left out and why."""

from pathlib import Path

import pytest

from policies.contract.snapshot import ANY_GPU_TYPE
from simulator.scenario.files import data_directory
from simulator.traces.alibaba import openb_nodes, openb_pods
from simulator.traces.collect import Report
from simulator.traces.formats import READERS
from simulator.traces.own import write_own
from simulator.traces.rows import TraceError
from simulator.traces.sacct import gpus_of_tres
from simulator.workload import Trace

DATA = data_directory()
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="FAIRWATT_DATA is not there")


def read(tmp_path: Path, kind: str, text: str) -> tuple[Trace, Report]:
    path = tmp_path / "trace"
    path.write_text(text)
    return READERS[kind](path)


def test_philly(tmp_path: Path) -> None:
    trace, report = read(
        tmp_path,
        "philly",
        "timestamp,duration,num_gpus,gpu_time,cluster\n"
        "2017-10-09 07:01:55,66.0,1,66.0,b\n"
        "2017-10-09 06:01:55,100.0,8,800.0,a\n"
        "2017-10-09 06:01:55,-1,8,800.0,a\n"
        "yesterday,10,8,800.0,a\n"
        "2017-10-09 06:01:55,10,0.5,800.0,a\n",
    )
    assert trace.jobs.work.tolist() == [100, 66]
    assert trace.jobs.gpus.tolist() == [8, 1]
    assert trace.partitions == trace.tenants == ("a", "b")
    assert trace.jobs.partition.tolist() == [0, 1]
    assert report.used == 2
    assert dict(report.skipped) == {
        "with a bad duration": 1,
        "with a bad timestamp": 1,
        "with a bad num_gpus": 1,
    }
    assert f"{tmp_path / 'trace'}:4: duration: expected a number above 0, found '-1'" in (
        report.problems
    )


def test_a_missing_column_names_file_line_and_field(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"trace:1: duration: expected a column of that name"):
        read(tmp_path, "philly", "timestamp,num_gpus,cluster\n")


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="a file that is there"):
        READERS["philly"](tmp_path / "nowhere.csv")


def test_a_ragged_row_is_left_out(tmp_path: Path) -> None:
    head = "timestamp,duration,num_gpus,gpu_time,cluster\n"
    _, report = read(tmp_path, "philly", head + "2017-10-09 07:01:55,66.0\n")
    assert report.used == 0
    assert sum(report.skipped.values()) == 1


def test_helios(tmp_path: Path) -> None:
    trace, report = read(
        tmp_path,
        "helios",
        "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,"
        "duration,queue\n"
        "1,u1,vc1,4,32,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:01:00,"
        "2020-04-01 00:11:00,600,60\n"
        "2,u2,vc2,0,4,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:01:00,"
        "2020-04-01 00:11:00,600,60\n",
    )
    # Midnight in Shanghai is 16:00 UTC of the day before.
    assert trace.jobs.submitted_s.tolist() == [1_585_670_400.0]
    assert trace.jobs.cpus_per_gpu.tolist() == [8]
    assert trace.partitions == ("vc1",)
    assert dict(report.skipped) == {"without GPUs": 1}


def test_acme(tmp_path: Path) -> None:
    trace, report = read(
        tmp_path,
        "acme",
        "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,"
        "duration,queue,gpu_time\n"
        "a,u1,2,16,64,Pretrain,COMPLETED,2023-03-01 00:00:00+08:00,2023-03-01 00:00:05+08:00,"
        "2023-03-01 01:00:05+08:00,3600,5,57600\n"
        "b,u1,1,8,64,Debug,CANCELLED,2023-03-01 00:00:00+08:00,,,0,5,0\n"
        "c,u1,1,0,64,Other,COMPLETED,2023-03-01 00:00:00+08:00,,,0,5,0\n",
    )
    assert trace.jobs.submitted_s.tolist() == [1_677_600_000.0]
    assert trace.jobs.gpus.tolist() == [16]
    assert dict(report.skipped) == {"that never ran": 1, "without GPUs": 1}


def test_openb(tmp_path: Path) -> None:
    trace, report = read(
        tmp_path,
        "openb",
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
        "deletion_time,scheduled_time\n"
        "p0,12000,16384,2,1000,V100M16|V100M32,LS,Running,100,500,150\n"
        "p1,12000,16384,1,460,,LS,Running,100,500,150\n"
        "p2,12000,16384,0,0,,LS,Running,100,500,150\n"
        "p3,12000,16384,1,1000,,BE,Pending,100,500,\n"
        "p4,12000,16384,1,1000,,BE,Failed,100,150,150\n"
        "p5,4000,1024,1,1000,,BE,Running,90,950,150\n",
    )
    jobs = trace.jobs
    assert jobs.submitted_s.tolist() == [90, 100]
    assert jobs.work.tolist() == [800, 350]
    assert trace.gpu_types == ("V100M16", "V100M32")
    assert jobs.gpu_types.tolist() == [ANY_GPU_TYPE, 0b11]
    assert jobs.cpus_per_gpu.tolist() == [4, 6]
    assert jobs.mem_mib_per_gpu.tolist() == [1024, 8192]
    assert sum(report.skipped.values()) == 4


def test_openb_counts_parts_of_a_gpu_as_one_where_asked_to(tmp_path: Path) -> None:
    path = tmp_path / "pods.csv"
    path.write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
        "deletion_time,scheduled_time\n"
        "p0,12000,16384,1,460,P100,LS,Running,100,500,150\n"
        "p1,12000,16384,0,0,,LS,Running,100,500,150\n"
    )
    assert len(openb_pods(path)[0].jobs) == 0
    trace, report = openb_pods(path, parts_as_whole=True)
    assert trace.jobs.gpus.tolist() == [1]
    assert report.skipped == {"without GPUs": 1}


def test_openb_nodes(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\n")
    machines = openb_nodes(path)
    assert machines.nodes.gpus.tolist() == [2]
    assert machines.nodes.cpus.tolist() == [64]
    assert machines.gpu_types.name == ("P100",)
    path.write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,none,P100\n")
    with pytest.raises(TraceError, match=r"nodes.csv:2: gpu: expected a number"):
        openb_nodes(path)


def test_pai(tmp_path: Path) -> None:
    trace, report = read(
        tmp_path,
        "pai",
        "j1,worker,2,Terminated,1000,1600,600,29,200,V100\n"
        "j2,worker,1,Terminated,500,700,600,29,100,MISC\n"
        "j3,ps,1,Terminated,500,700,600,29,,\n"
        "j4,worker,1,Terminated,500,700,600,29,25,T4\n"
        "j5,worker,1,Running,500,,600,29,100,T4\n",
    )
    assert trace.jobs.gpus.tolist() == [1, 4]
    assert trace.jobs.work.tolist() == [200, 600]
    assert trace.jobs.gpu_types.tolist() == [ANY_GPU_TYPE, 1]
    assert trace.jobs.cpus_per_gpu.tolist() == [6, 3]
    assert dict(report.skipped) == {
        "without GPUs": 1,
        "that ask for part of a GPU": 1,
        "without a start or an end": 1,
    }


def test_sacct(tmp_path: Path) -> None:
    trace, report = read(
        tmp_path,
        "sacct",
        "JobID|User|Account|Partition|Submit|ElapsedRaw|AllocTRES|State\n"
        "1|ann|lab|gpu|2024-03-01T12:00:00|600|billing=8,cpu=8,gres/gpu=4,node=1|COMPLETED\n"
        "1.batch|||gpu|2024-03-01T12:00:00|600|cpu=8|COMPLETED\n"
        "2|bob||gpu|2024-03-01T13:00:00|0|gres/gpu=1|CANCELLED\n"
        "3|bob||cpu|2024-03-01T13:00:00|50|cpu=4|COMPLETED\n"
        "4|bob||gpu|2024-03-01T11:00:00|50|gres/gpu:a100=2|COMPLETED\n",
    )
    assert trace.jobs.gpus.tolist() == [2, 4]
    assert trace.tenants == ("bob", "lab")
    assert trace.jobs.submitted_s.tolist() == [1_709_290_800.0, 1_709_294_400.0]
    assert sum(report.skipped.values()) == 3


@pytest.mark.parametrize(
    ("tres", "gpus"),
    [
        ("cpu=4,gres/gpu=8,gres/gpu:a100=8", 8),
        ("gres/gpu:a100=2,gres/gpu:v100=1", 3),
        ("cpu=4", 0),
        ("", 0),
    ],
)
def test_gpus_of_tres(tres: str, gpus: int) -> None:
    assert gpus_of_tres(tres) == gpus


def test_swf(tmp_path: Path) -> None:
    trace, report = read(
        tmp_path,
        "swf",
        "; a comment\n"
        "1 10 5 100 4 -1 -1 8 200 -1 1 3 1 -1 1 -1 -1 -1\n"
        "2 20 5 -1 4 -1 -1 8 200 -1 0 3 1 -1 1 -1 -1 -1\n"
        "3 5 5 50 4 -1 -1 -1 200 -1 1 4 1 -1 1 -1 -1 -1\n",
    )
    assert trace.jobs.gpus.tolist() == [4, 8]
    assert trace.jobs.work.tolist() == [50, 100]
    assert dict(report.skipped) == {"that ran for no time": 1}


def test_muri_counts_in_milliseconds(tmp_path: Path) -> None:
    trace, _ = read(
        tmp_path,
        "muri",
        "job_id,num_gpu,submit_time,duration,priority\n0,2,5000,60000,1\n",
    )
    assert trace.jobs.submitted_s.tolist() == [5]
    assert trace.jobs.work.tolist() == [60]


def test_own_format_comes_back_as_it_was(tmp_path: Path) -> None:
    text = (
        '{"submitted_s": 5, "duration_s": 60.5, "gpus": 2, "tenant": "t", "partition": "p",'
        ' "gpu_types": ["A"], "deadline_s": 90, "preemptible": false}\n'
        '{"submitted_s": 1, "duration_s": 3, "gpus": 1}\n'
    )
    trace, report = read(tmp_path, "own", text)
    assert report.used == 2
    again = tmp_path / "again.jsonl"
    write_own(trace, again)
    back, _ = READERS["own"](again)
    for (name, one), (_, two) in zip(trace.jobs.columns(), back.jobs.columns(), strict=True):
        assert one.tolist() == two.tolist(), name
    assert (back.tenants, back.partitions) == (trace.tenants, trace.partitions)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"submitted_s": 1, "duration_s": 3}', "missing required field `gpus`"),
        ('{"submitted_s": 1, "duration_s": 3, "gpus": 1, "color": 2}', "unknown field `color`"),
        ('{"submitted_s": 1, "duration_s": 0, "gpus": 1}', "a number above 0"),
        ('{"submitted_s": 1, "duration_s": 5, "gpus": 0}', "at least 1"),
        ("not json", "a job as JSON"),
    ],
)
def test_a_bad_line_of_our_own_is_explained(tmp_path: Path, line: str, expected: str) -> None:
    _, report = read(tmp_path, "own", line + "\n")
    assert report.used == 0
    assert expected in report.problems[0]
    assert "trace:1:" in report.problems[0]


@needs_data
@pytest.mark.parametrize(
    ("kind", "path", "used", "left_out"),
    [
        ("philly", "philly/philly.csv.gz", 82_247, 0),
        ("openb", "alibaba_openb_v2023/openb_pod_list_default.csv.gz", 3_630, 4_522),
        ("muri", "muri/trace1.csv", 1_494, 0),
        ("elasticflow", "elasticflow/philly_103959.csv", 876, 0),
    ],
)
@pytest.mark.slow
def test_real_files(kind: str, path: str, used: int, left_out: int) -> None:
    trace, report = READERS[kind](DATA / path)
    assert (report.used, sum(report.skipped.values())) == (used, left_out)
    assert (trace.jobs.work > 0).all()
    assert (trace.jobs.gpus > 0).all()


@needs_data
def test_real_nodes() -> None:
    machines = openb_nodes(DATA / "alibaba_openb_v2023" / "openb_node_list_gpu_node.csv")
    assert (len(machines.nodes), machines.gpus) == (1213, 6212)
