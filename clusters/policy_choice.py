"""Whether a cluster may run a policy with these parameters, and where in the body it may not."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from policies import registry
from policies.contract.parameters import ParameterError
from rest.problems import Contradiction, Invalid, Problem

Values = Mapping[str, Any]


def check_policies(values: Values) -> None:
    """Refuse an active or shadow policy that the registry would not build."""
    _check(values, "policy", "policy_parameters")
    if values["shadow_policy"] is not None:
        _check(values, "shadow_policy", "shadow_parameters")
    elif values["shadow_parameters"]:
        detail = "Parameters without a shadow policy mean nothing; name one or send {}."
        raise Contradiction.at("/shadow_parameters", "no_shadow_policy", detail)


def with_fresh_parameters(changes: Values) -> dict[str, Any]:
    """Parameters belong to a policy: naming another one without any starts from its defaults."""
    fresh: dict[str, Any] = {}
    if "policy" in changes:
        fresh["policy_parameters"] = {}
    if "shadow_policy" in changes:
        fresh["shadow_parameters"] = {}
    return {**fresh, **changes}


@cache
def parameter_names() -> frozenset[str]:
    """Every parameter that any policy has."""
    schemas = map(registry.parameter_schema, registry.policy_names())
    return frozenset(name for schema in schemas for name in schema["properties"])


def _check(values: Values, policy: str, parameters: str) -> None:
    try:
        registry.validate(values[policy], values[parameters])
    except ParameterError as error:
        if error.code == "unknown_policy":
            raise Invalid.at(f"/{policy}", error.code, error.message) from None
        raise refused(error, f"/{parameters}{error.pointer}") from None


def refused(error: ParameterError, at: str) -> Problem:
    """400 where the published schema says no as well, 422 where only this policy does."""
    of_another = error.code == "unknown_parameter" and at.rpartition("/")[2] in parameter_names()
    kind = Contradiction if of_another or error.code == "out_of_range" else Invalid
    return kind.at(at, error.code, error.message)
