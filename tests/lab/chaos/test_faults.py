"""Faults are drawn by seed, from what there is to hurt."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lab.chaos import stack
from lab.chaos.client import drawn
from lab.chaos.faults import Faults
from scheduler_service.seed import NODES


def kinds(seed: int, *, small_disk: bool = True) -> list[str]:
    there: Any = SimpleNamespace(
        pids=lambda: {"worker": 1, "beat": 1, "door": 1, "node-1": 1, "node-2": 1},
        shims=lambda: iter([(7, 1)]),
        agents=dict.fromkeys(NODES),
        clients=None,
        var=Path("/nowhere"),
    )
    faults = Faults(there, random.Random(seed), small_disk)
    return [faults.next().kind for _ in range(400)]


def test_one_seed_draws_the_same_faults() -> None:
    assert kinds(1) == kinds(1) != kinds(2)


def test_every_program_there_is_gets_its_share() -> None:
    """Also one that nobody had heard of when the campaign was written."""
    drawn_kinds = set(kinds(1))
    for program in ("worker", "beat", "door", "agent"):
        assert {f"kill {program}", f"stop {program}"} <= drawn_kinds
    assert {"kill shim", "full disk", "drip", "restart", "crash", "end sessions"} <= drawn_kinds
    assert {"lose answers clients", "half open agent", "cut clients"} <= drawn_kinds


def test_without_a_small_disk_none_is_filled() -> None:
    assert "full disk" not in kinds(1, small_disk=False)


def test_the_nodes_are_those_of_the_demo() -> None:
    assert set(stack.NODES) == set(NODES)


def test_clients_submit_all_kinds_of_jobs() -> None:
    draw = random.Random(1)
    bodies = [drawn(draw, "c", {}) for _ in range(200)]
    assert {body["name"] for body in bodies} == {"c-short", "c-keeps", "c-gang", "c-urgent"}
    assert all(body["argv"][-1] == "--keeps" for body in bodies if body["name"] == "c-keeps")
    assert max(body["gpus"] for body in bodies) > 3, "wider than a node"
