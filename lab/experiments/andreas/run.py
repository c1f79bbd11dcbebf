"""One run of the ANDREAS experiment, with what its scheduling calls cost."""

from time import process_time
from typing import Any

import msgspec

from lab.experiments.andreas.settings import INSTANCES, NODES, PACE, SEEDS, AndreasCase, setting_of
from lab.experiments.published import build_published
from policies.contract.plan import Plan
from policies.contract.policy import Policy
from policies.contract.snapshot import Snapshot
from simulator.engine import Engine
from simulator.measure import measure
from simulator.report.series import series_of


class Timed:
    """A policy, and the CPU seconds that its plans take."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.work_conserving, self.minds_running = policy.work_conserving, policy.minds_running
        self.calls, self.seconds = 0, 0.0

    def plan(self, snapshot: Snapshot) -> Plan:
        began = process_time()
        plan = self.policy.plan(snapshot)
        # The first call reads or makes the compiled kernel.
        self.seconds += process_time() - began if self.calls else 0.0
        self.calls += 1
        return plan


def run_case(case: AndreasCase) -> dict[str, Any]:
    setting = setting_of(case)
    policy = Timed(build_published(*case.policy()))
    outcome = Engine(setting, policy, PACE).run()
    measured = measure(outcome)
    summary = measured.summary
    energy, tardiness = summary["energy_cost"], summary["tardiness_cost"]
    plotted = (case.nodes, case.instance, case.seed) == (NODES[-1], INSTANCES[0], SEEDS[0])
    return {
        "total": energy + tardiness,
        "energy": energy,
        "tardiness": tardiness,
        "finished": summary["finished"],
        "deadline_misses": summary["deadline_misses"],
        "makespan_s": summary["makespan_s"],
        "preemptions": summary["preemptions"],
        "migrations": summary["migrations"],
        "calls": policy.calls,
        "call_ms": 1000 * policy.seconds / max(policy.calls - 1, 1),
        "series": msgspec.to_builtins(series_of(outcome, measured)) if plotted else None,
    }
