"""The registry: names, parameters with their schemas, and refusals that point at the fault."""

import math
import sys
from types import ModuleType
from typing import Any

import pytest

from policies import registry
from policies.classic.parameters import FifoParameters
from policies.contract.parameters import ParameterError
from policies.registry import PolicyRow, build, parameter_schema, policy_names, summary, validate

NAMES = (
    "fifo",
    "fifo-backfill",
    "conservative-backfill",
    "priority",
    "edf",
    "sjf",
    "srtf",
    "las",
    "ftf",
    "fair-share",
    "andreas",
    "first-principle",
    "fairwatt",
    "gandiva",
    "afs",
    "powerflow",
)


def test_the_classic_policies_are_there() -> None:
    assert set(NAMES) <= set(policy_names())


@pytest.mark.parametrize("name", NAMES)
def test_schema_describes_and_bounds_every_parameter(name: str) -> None:
    schema = parameter_schema(name)
    assert schema["additionalProperties"] is False
    assert not schema.get("required")
    for parameter, described in schema["properties"].items():
        assert described["description"], parameter
        assert "default" in described, parameter
        bounds = ("minimum", "exclusiveMinimum")
        if described.get("type") in {"number", "integer"}:
            assert any(bound in described for bound in bounds), parameter
    assert summary(name).endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_the_schemas_defaults_are_accepted(name: str) -> None:
    defaults = {key: p["default"] for key, p in parameter_schema(name)["properties"].items()}
    validate(name, defaults)
    build(name, defaults)


REFUSED: list[tuple[str, dict[Any, Any], str, str]] = [
    ("nonsense", {}, "unknown_policy", ""),
    ("fifo", {"speed": 1}, "unknown_parameter", "/speed"),
    ("fifo", {"a/b~c": 1}, "unknown_parameter", "/a~1b~0c"),
    ("fifo", {"strict": "yes"}, "wrong_type", "/strict"),
    ("fifo", {"strict": 1}, "wrong_type", "/strict"),
    ("fifo", {"placement": "anywhere"}, "out_of_range", "/placement"),
    ("fifo", {"placement": 3}, "wrong_type", "/placement"),
    ("fifo", {"min_run_s": -1}, "out_of_range", "/min_run_s"),
    ("fifo", {"min_run_s": math.nan}, "out_of_range", "/min_run_s"),
    ("fifo", {"max_preemptions": 1.5}, "wrong_type", "/max_preemptions"),
    ("priority", {"ageing_s": math.inf}, "out_of_range", "/ageing_s"),
    ("las", {"queue_gpu_s": []}, "out_of_range", "/queue_gpu_s"),
    ("las", {"queue_gpu_s": [1, "x"]}, "wrong_type", "/queue_gpu_s/1"),
    ("las", {"queue_gpu_s": [1, -1]}, "out_of_range", "/queue_gpu_s/1"),
    ("las", {"queue_gpu_s": [2, 1]}, "out_of_range", "/queue_gpu_s"),
    ("las", {"queue_gpu_s": {"a": 1}}, "wrong_type", "/queue_gpu_s"),
    ("fifo-backfill", {"preempt": True}, "unknown_parameter", "/preempt"),
    ("andreas", {"iterations": 0}, "out_of_range", "/iterations"),
    ("andreas", {"priority_weights": []}, "out_of_range", "/priority_weights"),
    ("andreas", {"priority_weights": [math.inf]}, "out_of_range", "/priority_weights"),
    ("fairwatt", {"hysteresis": 0.5}, "out_of_range", "/hysteresis"),
    ("fairwatt", {"wait_price_per_h": -1}, "out_of_range", "/wait_price_per_h"),
    ("first-principle", {"order": "lifo"}, "out_of_range", "/order"),
    ("conservative-backfill", {"reservations": 0}, "out_of_range", "/reservations"),
    ("fifo", {1: 2}, "wrong_type", ""),
]


@pytest.mark.parametrize(("name", "parameters", "code", "pointer"), REFUSED)
def test_bad_parameters_are_refused_with_a_pointer(
    name: str, parameters: dict[Any, Any], code: str, pointer: str
) -> None:
    with pytest.raises(ParameterError) as refused:
        validate(name, parameters)
    assert (refused.value.code, refused.value.pointer) == (code, pointer)
    assert refused.value.message
    with pytest.raises(ParameterError):
        build(name, parameters)


def test_an_unknown_policy_is_told_the_known_ones() -> None:
    with pytest.raises(ParameterError, match="fifo-backfill"):
        parameter_schema("nonsense")


def test_promises_follow_the_parameters() -> None:
    assert build("sjf", {}).work_conserving
    assert not build("sjf", {"strict": True}).work_conserving
    assert not build("sjf", {"placement": "buddy"}).work_conserving
    assert not build("fifo-backfill", {}).work_conserving


def test_a_site_adds_its_own_policies_and_takes_no_known_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "POLICIES", dict(registry.POLICIES))
    row = PolicyRow("As they come.", FifoParameters, registry.POLICIES["fifo"].factory)
    own = ModuleType("own_policies")
    own.POLICIES = {"as-they-come": row}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "own_policies", own)

    registry.add(["own_policies"])
    registry.add(["own_policies"])

    assert policy_names()[-1] == "as-they-come"
    assert build("as-they-come", {}).work_conserving == build("fifo", {}).work_conserving
    own.POLICIES = {"fifo": row}  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="a known name: fifo"):
        registry.add(["own_policies"])
