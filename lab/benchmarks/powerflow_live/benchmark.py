"""A power budget kept live: a mix of elastic jobs on emulated nodes, power read from telemetry.

Half way the budget is lowered by 30 % for a quarter of the time, by an order over HTTP like a grid
operator's, and raised again. `--seconds` shortens it for development.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from time import sleep
from typing import Any

import httpx

from lab.benchmarks.figures import figure
from lab.benchmarks.harness import demo
from lab.benchmarks.harness.service import agents, api
from lab.benchmarks.harness.waiting import until
from lab.benchmarks.powerflow_live import cluster
from lab.benchmarks.powerflow_live.cluster import PowerBin
from lab.benchmarks.powerflow_live.nodes import write_devices

SECONDS = 600
WATTS, LOWERED = 10_000, 0.7
BAR_PCT = 2.0
BIN_S = 5
READY_S = 60.0
# Agents upload every five seconds, and the inbox is read once a second.
SETTLE_S = 9.0


def main(database_url: str, *options: str) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    seconds = parser.parse_args(options).seconds
    with api(database_url) as service:
        made = demo.seed(service, write_devices(service.directory))
        cluster.prepare(watts=WATTS)
        with agents(made.nodes, service), service.client(made.operator_token) as http:
            until(demo.all_ready, "nodes are ready", longest_s=READY_S)
            cluster.profile()
            begun_at = cluster.now()
            answered = _play(http, begun_at, seconds)
            cluster.stop_jobs()
            sleep(SETTLE_S)
            # What an agent leaves behind would outlive it.
            until(demo.all_over, "jobs have stopped", longest_s=READY_S)
            cluster.step()
            bins = cluster.bins(begun_at, seconds=seconds, bin_s=BIN_S)
            report(f"4x8/{seconds}s", bins, cluster.counted(), answered, cluster.proven())


def _play(http: httpx.Client, begun_at: datetime, seconds: int) -> dict[str, Any]:
    """Submit the mix over time, hold rounds as beat would, and order the lower budget."""
    mix = cluster.mix(seconds)
    answered: dict[str, Any] = {}
    window = (
        begun_at + timedelta(seconds=seconds / 2),
        begun_at + timedelta(seconds=0.75 * seconds),
    )
    while (now := cluster.now()) < begun_at + timedelta(seconds=seconds):
        while mix and now >= begun_at + timedelta(seconds=mix[0].at_s):
            cluster.submit(mix.pop(0))
        if not answered and now >= window[0] - timedelta(seconds=seconds / 8):
            answered = _order(http, cluster.cluster_id(), window)
        cluster.step()
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
    bins: Sequence[PowerBin],
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
