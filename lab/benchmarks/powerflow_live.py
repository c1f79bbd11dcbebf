"""A power budget kept live: a mix of elastic jobs on emulated nodes, power read from telemetry.

Half way the budget is lowered by 30 % for a quarter of the time, by an order over HTTP like a grid
operator's, and raised again. `--seconds` shortens it for development.
"""

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from time import sleep
from typing import Any, NamedTuple

import httpx

from lab.benchmarks.emulated import agents, service
from lab.benchmarks.figures import figure
from lab.benchmarks.service import database
from lab.benchmarks.waiting import until

logging.getLogger("httpx").setLevel(logging.WARNING)
SECONDS = 600
WATTS, LOWERED = 10_000, 0.7
BAR_PCT = 2.0
BIN_S = 5
READY_S = 60.0
# Agents upload every five seconds, and the inbox is read once a second.
SETTLE_S = 9.0

NODE = """
[[gpus]]
type = "{name}"
count = 8
memory_mib = {memory_mib}
idle_w = {idle_w}
max_w = {max_w}
clocks_mhz = {clocks_mhz}

[host]
cpus = 64
memory_mib = 524288
idle_w = 250
peak_w = 800
boot_s = 10
"""
# Eight clocks each, with the watts of the makers' data sheets.
KINDS: dict[str, dict[str, Any]] = {
    "a100x8": {
        "name": "A100", "memory_mib": 81920, "idle_w": 55, "max_w": 400,
        "clocks_mhz": [705, 810, 915, 1005, 1110, 1215, 1305, 1410],
    },
    "v100x8": {
        "name": "V100", "memory_mib": 32768, "idle_w": 40, "max_w": 300,
        "clocks_mhz": [765, 870, 975, 1087, 1200, 1305, 1417, 1530],
    },
}  # fmt: skip


class Bin(NamedTuple):
    """Mean watts of some seconds, and the budget that was in force all through them."""

    at: datetime
    watts: float
    budget_w: float

    @property
    def over_pct(self) -> float:
        return 100 * (self.watts / self.budget_w - 1)


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    seconds = parser.parse_args(list(arguments)).seconds
    with database() as url, service(url) as (address, directory):
        # They need Django set up.
        from lab.benchmarks import emulated_world
        from lab.benchmarks import powerflow_live_world as world

        nodes = emulated_world.seed(directory / "demo.json", address, _devices(directory))
        world.prepare(watts=WATTS)
        with agents(nodes, address, directory):
            until(emulated_world.all_ready, "nodes are ready", longest_s=READY_S)
            world.profile()
            begun_at = world.now()
            token = json.loads((directory / "demo.json").read_text())["operator_token"]
            answered = _play(world, address, token, begun_at, seconds)
            world.stop_jobs()
            sleep(SETTLE_S)
            # What an agent leaves behind would outlive it.
            until(world.all_stopped, "jobs have stopped", longest_s=READY_S)
            world.step()
            bins = world.bins(begun_at, seconds=seconds, bin_s=BIN_S)
            report(f"4x8/{seconds}s", bins, world.counted(), answered, world.proven())


def _play(world: Any, address: str, token: str, begun_at: datetime, seconds: int) -> dict[str, Any]:
    """Submit the mix over time, hold rounds as beat would, and order the lower budget."""
    mix = world.mix(seconds)
    answered: dict[str, Any] = {}
    window = (
        begun_at + timedelta(seconds=seconds / 2),
        begun_at + timedelta(seconds=0.75 * seconds),
    )
    bearer = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=address, headers=bearer, timeout=60, trust_env=False) as http:
        while (now := world.now()) < begun_at + timedelta(seconds=seconds):
            while mix and now >= begun_at + timedelta(seconds=mix[0].at_s):
                world.submit(mix.pop(0))
            if not answered and now >= window[0] - timedelta(seconds=seconds / 8):
                answered = _order(http, world.cluster_id(), window)
            world.step()
            sleep(1.0)
    return answered


def _order(
    http: httpx.Client, cluster_id: int, window: tuple[datetime, datetime]
) -> dict[str, Any]:
    """First the question, then the order; what was answered."""
    path = f"/api/v1/clusters/{cluster_id}/power-budget/"
    body = {
        "watts": int(WATTS * LOWERED),
        "starts_at": window[0].isoformat(),
        "ends_at": window[1].isoformat(),
        "reason": "benchmark",
    }
    asked = http.post(path, json=body).raise_for_status().json()
    http.post(path, json={**body, "dry_run": False}).raise_for_status()
    estimate: dict[str, Any] = asked["estimate"]
    return estimate


def report(
    case: str,
    bins: Sequence[Bin],
    counted: dict[str, int],
    answered: dict[str, Any],
    proven: dict[str, Any],
) -> None:
    bench = "powerflow-live"
    within = [each.over_pct <= BAR_PCT for each in bins]
    minutes = [bins[at : at + 60 // BIN_S] for at in range(0, len(bins), 60 // BIN_S)]
    over = [100 * (sum(b.watts for b in m) / sum(b.budget_w for b in m) - 1) for m in minutes]
    figure(bench, case, "time_within_2pct", 100 * sum(within) / len(within), "%", at_least=100)
    figure(bench, case, "worst_minute_over", max(over), "%", at_most=BAR_PCT)
    figure(bench, case, "worst_5s_over", max(each.over_pct for each in bins), "%")
    used = sum(each.watts for each in bins) / sum(each.budget_w for each in bins)
    figure(bench, case, "budget_used", 100 * used, "%")
    for name, count in counted.items():
        figure(bench, case, name, count, "")
    figure(bench, case, "foreseen_shed", answered["shed_w"], "W")
    figure(bench, case, "foreseen_mean_delay", answered["mean_delay_s"] or 0.0, "s")
    # A short window has no whole minute of the clock.
    if proven["within"] is not None:
        saved_kwh = (proven["energy_not_drawn_j"] or 0.0) / 3.6e6
        figure(bench, case, "proof_within", 100 * proven["within"], "%")
        figure(bench, case, "energy_not_drawn", saved_kwh, "kWh")
    for each in bins:
        if each.over_pct > 0:
            line = f"{each.at:%H:%M:%S} {each.watts:.0f} W of {each.budget_w:.0f} W"
            sys.stderr.write(f"# {line}, {each.over_pct:+.1f} %\n")


def _devices(directory: Path) -> Path:
    """A file for each kind of node."""
    for name, kind in KINDS.items():
        (directory / f"{name}.toml").write_text(NODE.format(**kind))
    return directory


if __name__ == "__main__":
    main(sys.argv[1:])
