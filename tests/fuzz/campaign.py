"""Each role in turn: what the schema's bounds suggest first, then random chains of requests."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import requests
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema
from schemathesis.hooks import GLOBAL_HOOK_DISPATCHER

from tests.fuzz.aim import Aim
from tests.fuzz.checks import CHECKS, CHECKS_OF_CHAINS
from tests.fuzz.report import Report
from tests.fuzz.stage import Stage
from tests.fuzz.traffic import Traffic, counted, templates

# Shares of the requests; operators come last, because they can suspend and delete the others.
ROLES = {"member": 20, "admin": 25, "node": 5, "attempt": 5, "none": 10, "operator": 35}
# Of a role's requests, for single requests at the edges of what the schema allows. Those who may
# do next to nothing are refused before an edge could matter.
EDGES = {"member": 0.4, "admin": 0.4, "operator": 0.4}


@dataclass(frozen=True)
class Turn:
    """One role's requests of one kind, until so many have been sent by all."""

    role: str
    kind: str
    seed: int
    stop_at: int


def campaign(scene: Stage, wanted: int, seed: int, report: Report, below: str = "") -> None:
    """At least `wanted` requests to the addresses that begin with `below`."""
    document = requests.get(f"{scene.url}/api/v1/schema/?format=json", timeout=30).json()
    paths = {path: said for path, said in document["paths"].items() if path.startswith(below)}
    document["paths"] = paths
    traffic = report.traffic = Traffic(templates(list(document["paths"])))
    own = {_token_id(scene, role) for role in ROLES if role != "none"}
    aim = Aim(scene.world, own, random.Random(seed))
    GLOBAL_HOOK_DISPATCHER.register_hook_with_name(aim.before_call, "before_call")
    GLOBAL_HOOK_DISPATCHER.register_hook_with_name(aim.after_call, "after_call")
    try:
        for role, until in budgets(wanted):
            traffic.role = role
            if role in EDGES:
                stop_at = traffic.total + int((until - traffic.total) * EDGES[role])
                run(scene, document, Turn(role, "edges", seed, stop_at), report)
            while traffic.total < until and not report.stuck:
                seed += 1
                run(scene, document, Turn(role, "chains", seed, until), report)
    finally:
        GLOBAL_HOOK_DISPATCHER.unregister_all()


def budgets(wanted: int) -> Iterator[tuple[str, int]]:
    """Each role, and the number of requests after which its turn is over."""
    done = 0
    for role, share in ROLES.items():
        done += share
        yield role, -(-wanted * done // sum(ROLES.values()))


def run(scene: Stage, document: dict[str, Any], turn: Turn, report: Report) -> None:
    shuffled = list(document["paths"].items())
    random.Random(turn.seed).shuffle(shuffled)
    config = SchemathesisConfig.from_dict(settings(scene, turn))
    schema = schemathesis.openapi.from_dict({**document, "paths": dict(shuffled)}, config=config)
    engine = from_schema(schema)
    stream = engine.execute() if turn.kind == "edges" else engine.fuzz()

    def stop_when_done() -> None:
        report.progress()
        if report.traffic.total >= turn.stop_at:
            stream.stop()

    with counted(report.traffic, stop_when_done):
        for event in stream:
            if isinstance(event, events.ScenarioFinished | events.FuzzScenarioFinished):
                report.take(turn.role, event.recorder)
            elif isinstance(event, events.NonFatalError | events.FatalError):
                report.broken(turn.role, event)


def settings(scene: Stage, turn: Turn) -> dict[str, Any]:
    secret = scene.world.secrets.get(turn.role)
    return {
        "seed": turn.seed,
        "base-url": scene.url,
        "headers": {"Authorization": f"Bearer {secret}"} if secret else {},
        "continue-on-failure": True,
        "workers": 1,
        "request-timeout": 60,
        "suppress-health-check": ["all"],
        "checks": {**CHECKS, **(CHECKS_OF_CHAINS if turn.kind == "chains" else {})},
        # U+0000 is refused everywhere, which no schema says; tests/live/test_bad_input.py sends it.
        "generation": {"database": "none", "no-shrink": True, "allow-x00": False},
        "phases": {
            "fuzzing": {"enabled": False},
            "stateful": {"enabled": False},
            "coverage": {"operation-ordering": "none"},
        },
    }


def _token_id(scene: Stage, role: str) -> int:
    headers = {"Authorization": f"Bearer {scene.world.secrets[role]}"}
    me = requests.get(f"{scene.url}/api/v1/me/", headers=headers, timeout=30)
    token_id: int = me.json()["token_id"]
    return token_id
