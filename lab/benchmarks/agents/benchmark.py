"""How many agents one service bears, and how soon a submitted job's process starts."""

import json
import subprocess
import sys
import time
from typing import Any

from django.utils import timezone

from lab.benchmarks.agents import fleet as fleets
from lab.benchmarks.agents.starts import starts_s
from lab.benchmarks.figures import figure
from lab.benchmarks.harness.service import stack

FLEETS = (1000, 1500, 2000)
SECONDS, WARM_UP_S = 20, 20
P99_MS, SAMPLES_PER_S, START_P95_S = 250, 2000, 2.0


def main(database_url: str) -> None:
    with stack(database_url) as service:
        largest, samples_beside = 0, 0.0
        for count in FLEETS:
            p99_ms, per_s, losses = measure(service.address, count)
            if p99_ms > P99_MS or losses:
                break
            largest, samples_beside = count, per_s
    figure("agents", "largest fleet", "agents", largest, "agents", at_least=1000)
    figure("agents", f"{largest} agents", "samples_beside", samples_beside, "samples/s",
           at_least=SAMPLES_PER_S)  # fmt: skip
    taken_s = starts_s()
    for metric, share in (("p50", 0.5), ("p95", 0.95)):
        value = taken_s[round(share * (len(taken_s) - 1))]
        figure("agents", f"{len(taken_s)} submits", f"start_{metric}_s", value, "s",
               at_most=START_P95_S if metric == "p95" else None)  # fmt: skip


def measure(address: str, count: int) -> tuple[float, float, int]:
    fleet, case = fleets.build(count, timezone.now()), f"{count} agents"
    found = load(
        {"url": address, "tokens": fleet.tokens, "nodes": fleet.nodes, "seconds": SECONDS,
         "warm_up_s": WARM_UP_S}
    )  # fmt: skip
    time.sleep(2)
    lost = fleets.states(fleet).get("lost", 0) + count * fleets.braked(fleet)
    syncs = found["sync_ms"]
    p99_ms = syncs[int(0.99 * (len(syncs) - 1))]
    per_s = found["samples"] / SECONDS
    figure("agents", case, "sync_p50_ms", syncs[len(syncs) // 2], "ms")
    figure("agents", case, "sync_p99_ms", p99_ms, "ms", at_most=P99_MS)
    figure("agents", case, "syncs_per_s", len(syncs) / SECONDS, "syncs/s")
    figure("agents", case, "samples_taken_per_s", per_s, "samples/s")
    figure("agents", case, "samples_kept", fleets.samples_kept(fleet), "samples")
    figure("agents", case, "falsely_lost", lost, "nodes", at_most=0)
    failed = sum(times for answer, times in found["answers"].items() if not answer.endswith(" 200"))
    figure("agents", case, "answers_not_200", failed, "answers")
    sys.stderr.write(f"{found['answers']}\n")
    fleets.retire(fleet)
    return p99_ms, per_s, lost


def load(asked: dict[str, Any]) -> dict[str, Any]:
    """In a process of its own, as agents are."""
    done = subprocess.run(
        [sys.executable, "-m", "lab.benchmarks.agents.load"],
        input=json.dumps(asked).encode(),
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found
