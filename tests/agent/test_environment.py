"""What an attempt's processes are told: the same names in every placement."""

from pathlib import Path

import pytest

from agent.run.environment import (
    gang_environment,
    job_environment,
    labelled_ranks,
    log_file,
    process_environments,
    ranks_with_logs,
)
from agent.wire import DesiredAttempt, Gang, Processes, SecretValue
from tests.agent.fakes import attempt

CONTRACT = {
    *("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"),
    *("NNODES", "NODE_RANK"),
}
# Nodes by how many GPUs of the attempt lie on each.
PLACEMENTS = {"1 node": (1,), "8 GPUs": (8,), "2 nodes": (4, 4), "12 GPUs": (8, 4)}
# One process is on one node: the service refuses another span.
CELLS = {
    f"{processes}, {name}": (processes, gpus)
    for processes in Processes
    for name, gpus in PLACEMENTS.items()
    if processes is not Processes.ONE or len(gpus) == 1
}


def parts(processes: Processes, gpus: tuple[int, ...]) -> list[DesiredAttempt]:
    """What the service says to each node."""
    counts = [count if processes is Processes.PER_GPU else 1 for count in gpus]
    return [
        attempt(
            processes=processes,
            gpu_uuids=tuple(f"GPU-{node}-{index}" for index in range(gpus[node])),
            gang=Gang(
                first_rank=sum(counts[:node]),
                world_size=sum(counts),
                local_world_size=counts[node],
                node_rank=node,
                nodes=len(gpus),
                master_address="node-1",
                master_port=20_007,
            ),
        )
        for node in range(len(gpus))
    ]


def environments(part: DesiredAttempt) -> list[dict[str, str]]:
    shared = gang_environment(part)
    return [shared | own for own in process_environments(part)]


@pytest.mark.parametrize(("processes", "gpus"), CELLS.values(), ids=CELLS)
def test_ranks_are_whole_and_all_agree(processes: Processes, gpus: tuple[int, ...]) -> None:
    each = [environments(part) for part in parts(processes, gpus)]
    flat = [process for node in each for process in node]
    assert all(process.keys() >= CONTRACT for process in flat)
    expected = {Processes.ONE: 1, Processes.PER_NODE: len(gpus), Processes.PER_GPU: sum(gpus)}
    assert [process["RANK"] for process in flat] == [str(n) for n in range(expected[processes])]
    assert {process["WORLD_SIZE"] for process in flat} == {str(len(flat))}
    assert len({(process["MASTER_ADDR"], process["MASTER_PORT"]) for process in flat}) == 1
    assert {process["NNODES"] for process in flat} == {str(len(gpus))}
    for number, node in enumerate(each):
        assert [process["LOCAL_RANK"] for process in node] == [str(n) for n in range(len(node))]
        assert {process["LOCAL_WORLD_SIZE"] for process in node} == {str(len(node))}
        assert {process["NODE_RANK"] for process in node} == {str(number)}


def test_an_older_service_that_says_nothing_means_one_process() -> None:
    (process,) = environments(attempt())
    assert process.keys() >= CONTRACT
    assert (process["RANK"], process["WORLD_SIZE"], process["NNODES"]) == ("0", "1", "1")
    assert process["MASTER_ADDR"] == "127.0.0.1"


def test_torchrun_finds_its_own_options_with_a_process_per_node() -> None:
    _, second = parts(Processes.PER_NODE, (8, 4))
    told = {name: value for name, value in gang_environment(second).items() if "PET_" in name}
    assert told == {
        "PET_MASTER_ADDR": "node-1",
        "PET_MASTER_PORT": "20007",
        "PET_NNODES": "2",
        "PET_NODE_RANK": "1",
        "PET_NPROC_PER_NODE": "4",
    }
    assert "PET_NNODES" not in gang_environment(parts(Processes.PER_GPU, (8, 4))[0])


def test_logs_are_apart_by_rank_where_there_are_several(tmp_path: Path) -> None:
    _, second = parts(Processes.PER_GPU, (8, 2))
    assert labelled_ranks(second) == (8, 9)
    assert labelled_ranks(parts(Processes.ONE, (8,))[0]) == (None,)
    assert ranks_with_logs(tmp_path / "none") == ranks_with_logs(tmp_path) == ()
    (tmp_path / log_file("stdout", None)).touch()
    assert ranks_with_logs(tmp_path) == (None,)
    for rank in (9, 10):
        (tmp_path / log_file("stdout", rank)).touch()
    assert ranks_with_logs(tmp_path) == (9, 10)


def test_what_only_the_agent_knows_outranks_what_a_tenant_says() -> None:
    given = attempt(
        env={"RANK": "7", "MASTER_ADDR": "evil", "KEY": "open", "FAIRWATT_SECRETS_DIR": "/x"},
        secrets=(
            SecretValue("key", "sesame", variable="KEY"),
            SecretValue("token", "x", file="token"),
        ),
    )
    place = Path("/p")
    found = job_environment(
        given,
        node="node-1",
        work=place,
        progress=place,
        checkpoints=place,
        cpus=place,
        clock=place,
        secrets=place / "secrets",
        base={"PATH": "/usr/bin", "FAIRWATT_JOIN_TOKEN": "fw_j_x"},
    )
    assert (found["KEY"], found["MASTER_ADDR"]) == ("sesame", "127.0.0.1")
    assert found["FAIRWATT_SECRETS_DIR"] == "/p/secrets"
    assert "FAIRWATT_JOIN_TOKEN" not in found
