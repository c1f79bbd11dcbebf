"""How results are told: lines for people, or one JSON document."""

import json
from collections.abc import Mapping
from dataclasses import asdict

from scheduler_service.check.result import ProbeResult


def sound(results: Mapping[str, ProbeResult]) -> bool:
    return all(result.status != "failed" for result in results.values())


def as_text(results: Mapping[str, ProbeResult]) -> str:
    return "\n".join(line for name, result in results.items() for line in _lines(name, result))


def as_json(results: Mapping[str, ProbeResult]) -> str:
    probes = [{"name": name, **asdict(result)} for name, result in results.items()]
    return json.dumps({"sound": sound(results), "probes": probes}, indent=2)


def _lines(name: str, result: ProbeResult) -> list[str]:
    told = f"{result.status:<8} {name:<14} {result.detail}"
    return [told, f"{'':<8} → {result.next_step}"] if result.next_step else [told]
