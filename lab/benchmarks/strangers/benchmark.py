"""`make bench NAME=strangers`: what strangers cost the others; loopback only, and bounded.

200 sockets that never finish their request and 200 logins at once, for two minutes, while nodes
sync once a second. `python -m lab.benchmarks.run strangers 20` takes twenty seconds instead.
"""

import asyncio
from statistics import quantiles

from django.utils import timezone

from clusters.models import Node
from engines.agents.loss import watch_nodes
from lab.benchmarks.figures import figure
from lab.benchmarks.harness import service
from lab.benchmarks.strangers.nodes import SyncingNode, joined
from lab.benchmarks.strangers.strangers import Attack, healthz

SECONDS = 120
SOCKETS = LOGINS = 200
NODES = 20
SETTLE_S = 3


def main(database_url: str, seconds: str = str(SECONDS)) -> None:
    tokens = joined(NODES, timezone.now())
    with service.stack(database_url) as running:
        attack = asyncio.run(_scene(running.address, tokens, float(seconds)))
    watch_nodes(now=timezone.now())
    _report(attack)


async def _scene(url: str, tokens: list[str], seconds: float) -> Attack:
    """The nodes come first: what is measured begins when all of them are there."""
    attack = Attack(url)
    nodes = [SyncingNode(url, token, attack.sync_ms, attack.syncs) for token in tokens]
    calm = [asyncio.create_task(node.syncing()) for node in nodes]
    await asyncio.sleep(SETTLE_S)
    attack.sync_ms.clear()
    strangers = [
        *(asyncio.create_task(attack.dripping()) for _ in range(SOCKETS)),
        *(asyncio.create_task(attack.guessing()) for _ in range(LOGINS)),
        asyncio.create_task(healthz(attack)),
    ]
    await asyncio.sleep(seconds)
    for task in (*strangers, *calm):
        task.cancel()
    await asyncio.gather(*strangers, *calm, return_exceptions=True)
    return attack


def _report(attack: Attack) -> None:
    case = f"{SOCKETS} dripping, {LOGINS} logins at once, {NODES} nodes"
    _p99(case, "healthz", attack.healthz_ms, 1000)
    _p99(case, "sync", attack.sync_ms, 250)
    failed = sum(count for status, count in attack.syncs.items() if status != 200)
    figure("strangers", case, "syncs refused", failed, "syncs", at_most=0)
    lost = Node.objects.exclude(state=Node.State.READY).count()
    figure("strangers", case, "nodes lost", lost, "nodes", at_most=0)
    figure("strangers", case, "sockets cut off", attack.cut, "sockets", at_least=1)
    figure("strangers", case, "logins answered", sum(attack.logins.values()), "logins")
    figure("strangers", case, "logins checked", attack.logins[200], "logins")


def _p99(case: str, what: str, taken_ms: list[float], at_most_ms: float) -> None:
    figure("strangers", case, f"{what} count", len(taken_ms), "requests", at_least=100)
    p99_ms = quantiles(taken_ms, n=100)[98]
    figure("strangers", case, f"{what} p50", quantiles(taken_ms, n=2)[0], "ms")
    figure("strangers", case, f"{what} p99", p99_ms, "ms", at_most=at_most_ms)
    figure("strangers", case, f"{what} worst", max(taken_ms), "ms")
