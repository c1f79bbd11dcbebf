"""The same scenario and seed give the same results, to the byte."""

import pickle

import numpy as np

from policies.contract.plan import Plan
from policies.contract.snapshot import Snapshot
from policies.registry import build
from simulator.engine import Engine
from tests.simulator.worlds import small_world


def fingerprint(seed: int) -> bytes:
    setting, policy, pace = small_world(seed)
    outcome = Engine(setting, policy, pace).run()
    samples = outcome.samples
    return pickle.dumps(
        (
            outcome.finished_s.tobytes(),
            outcome.log.stretches,
            outcome.log.pieces,
            outcome.log.node_changes,
            samples.free.tobytes(),
            samples.useless.tobytes(),
        )
    )


def test_runs_are_identical() -> None:
    for seed in range(0, 60, 7):
        assert fingerprint(seed) == fingerprint(seed)


def test_snapshots_of_a_run_replay_to_the_same_plans() -> None:
    """What the simulator shows a policy can be stored and read back like a live snapshot."""
    setting, _, pace = small_world(6)
    policy = build("srtf", {"placement": "random"})
    seen: list[tuple[bytes, str]] = []

    class Recorder:
        work_conserving = policy.work_conserving
        minds_running = policy.minds_running

        def plan(self, snapshot: Snapshot) -> Plan:
            plan = policy.plan(snapshot)
            seen.append((snapshot.to_bytes(), plan.digest()))
            return plan

    outcome = Engine(setting, Recorder(), pace).run()
    assert len(seen) == outcome.rounds > 3
    for stored, digest in seen:
        assert policy.plan(Snapshot.from_bytes(stored)).digest() == digest


def test_snapshots_can_not_be_written_to() -> None:
    setting, policy, pace = small_world(2)
    engine = Engine(setting, policy, pace)
    engine.world.advance(engine.world.next_event_s())
    snapshot = engine.world.snapshot(engine._prices.at(setting.origin_s), setting.profiles)
    for table in (snapshot.jobs, snapshot.placements, snapshot.nodes, snapshot.tenants):
        for name, values in table.columns():
            assert not values.flags.writeable, name
    assert np.all(snapshot.jobs.id == [0])
