"""How many agents one service bears, and how soon a submitted job's process starts."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from lab.benchmarks.figures import figure
from lab.benchmarks.service import database
from lab.benchmarks.submit_to_start import measure as measure_starts
from scheduler_service.embedded import broker
from scheduler_service.embedded.ports import LOOPBACK, free_port
from scheduler_service.embedded.program import running
from scheduler_service.embedded.stack import Site, services

FLEETS = (1000, 1500, 2000)
SECONDS, WARM_UP_S = 20, 20
P99_MS, SAMPLES_PER_S, START_P95_S = 250, 2000, 2.0


def main() -> None:
    with database() as url, service(url) as address:
        from lab.benchmarks import agents_world as world

        largest, samples_beside = 0, 0.0
        for count in FLEETS:
            p99_ms, per_s, losses = measure(world, address, count)
            if p99_ms > P99_MS or losses:
                break
            largest, samples_beside = count, per_s
    figure("agents", "largest fleet", "agents", largest, "agents", at_least=1000)
    figure("agents", f"{largest} agents", "samples_beside", samples_beside, "samples/s",
           at_least=SAMPLES_PER_S)  # fmt: skip
    starts_s = measure_starts()
    for metric, share in (("p50", 0.5), ("p95", 0.95)):
        value = starts_s[round(share * (len(starts_s) - 1))]
        figure("agents", f"{len(starts_s)} submits", f"start_{metric}_s", value, "s",
               at_most=START_P95_S if metric == "p95" else None)  # fmt: skip


def measure(world: Any, address: str, count: int) -> tuple[float, float, int]:
    from django.utils import timezone  # noqa: PLC0415  # needs Django set up

    fleet, case = world.build(count, timezone.now()), f"{count} agents"
    found = load(
        {"url": address, "tokens": fleet.tokens, "nodes": fleet.nodes, "seconds": SECONDS,
         "warm_up_s": WARM_UP_S}
    )  # fmt: skip
    time.sleep(2)
    lost = world.states(fleet).get("lost", 0) + count * world.braked(fleet)
    syncs = found["sync_ms"]
    p99_ms = syncs[int(0.99 * (len(syncs) - 1))]
    per_s = found["samples"] / SECONDS
    figure("agents", case, "sync_p50_ms", syncs[len(syncs) // 2], "ms")
    figure("agents", case, "sync_p99_ms", p99_ms, "ms", at_most=P99_MS)
    figure("agents", case, "syncs_per_s", len(syncs) / SECONDS, "syncs/s")
    figure("agents", case, "samples_taken_per_s", per_s, "samples/s")
    figure("agents", case, "samples_kept", world.samples_kept(fleet), "samples")
    figure("agents", case, "falsely_lost", lost, "nodes", at_most=0)
    failed = sum(times for answer, times in found["answers"].items() if not answer.endswith(" 200"))
    figure("agents", case, "answers_not_200", failed, "answers")
    sys.stderr.write(f"{found['answers']}\n")
    world.retire(fleet)
    return p99_ms, per_s, lost


def load(asked: dict[str, Any]) -> dict[str, Any]:
    """In a process of its own, as agents are."""
    done = subprocess.run(
        [sys.executable, "-m", "lab.benchmarks.agents_load"],
        input=json.dumps(asked).encode(),
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@contextmanager
def service(database_url: str, agents: Sequence[dict[str, str]] = ()) -> Iterator[str]:
    """API, workers and beat as `make up` starts them, without its agents but with these."""
    place = tempfile.TemporaryDirectory(prefix="fairwatt-bench-", dir="/tmp")
    with place as name, ExitStack() as up:
        var = Path(name)
        queue = up.enter_context(broker.prepared(var / "broker", port=free_port()))
        up.enter_context(running(queue.program, var / "broker.log"))
        env = {**os.environ, "DATABASE_URL": database_url, "BROKER_URL": queue.url,
               "CACHE_URL": queue.url, "FAIRWATT_VAR": name}  # fmt: skip
        (var / "demo.json").write_text(json.dumps({"agents": list(agents)}))
        (var / "static").mkdir()
        root = Path(__file__).resolve().parents[1]
        site = Site(root, var, LOOPBACK, free_port(), env, lock=sys.stderr.fileno())
        for program in services(site):
            up.enter_context(running(program, var / f"{program.name}.log"))
        yield site.url


if __name__ == "__main__":
    main()
