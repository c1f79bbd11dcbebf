"""A question as the form asks it: the queue as it is, beside what would be otherwise."""

from collections.abc import Mapping
from typing import Any

from clusters.models import Cluster
from policies import registry
from rest.problems import Invalid
from rest.structs import read
from whatif.api.structs import SimulationCreate

# The first of the two runs; its label begins so.
NOW = "now: "
# What an hour of waiting is worth: the dial between cheap and fast, where a policy has one.
DIAL = "wait_price_per_h"
LABEL_MOST = 100


def question(cluster: Cluster, sent: Mapping[str, str]) -> SimulationCreate:
    policy = sent.get("policy") or cluster.policy
    today = {
        "name": cluster.policy,
        "label": f"{NOW}{cluster.policy}",
        "parameters": cluster.policy_parameters,
    }
    changes = _changes(sent)
    other = {"name": policy, "parameters": _parameters(cluster, policy, sent), "changes": changes}
    label = ", ".join([policy, *_words(sent)])[:LABEL_MOST]
    values = {
        "name": f"{cluster.policy} or {label}?"[:200],
        "live": True,
        "cluster": cluster.name,
        "policies": [today, {**other, "label": label}],
    }
    found: SimulationCreate = read(SimulationCreate, values)
    return found


def _parameters(cluster: Cluster, policy: str, sent: Mapping[str, str]) -> dict[str, Any]:
    """The cluster's own where the policy stays, and the dial where it has one."""
    own = dict(cluster.policy_parameters) if policy == cluster.policy else {}
    if not _said(sent, "dial"):
        return own
    # A name that is not known is refused with the rest of the question.
    known = policy in registry.policy_names()
    if known and DIAL not in registry.parameter_schema(policy)["properties"]:
        raise Invalid.at("/dial", "no_dial", f"{policy} has no dial between cheap and fast.")
    return own | {DIAL: _number(sent, "dial")}


def _changes(sent: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if tariff := _said(sent, "tariff"):
        found["tariff"] = tariff
    if _said(sent, "power_budget_w"):
        found["power_budget_w"] = _number(sent, "power_budget_w")
    if like := _said(sent, "add_like"):
        found["add_nodes"] = [{"like": like, "count": int(_number(sent, "add_count"))}]
    if names := _said(sent, "remove"):
        found["remove_nodes"] = names.replace(",", " ").split()
    return found


def _words(sent: Mapping[str, str]) -> list[str]:
    """What is otherwise, for the heading of its column."""
    said = {
        "dial": "an hour's wait at {}",
        "tariff": "tariff {}",
        "power_budget_w": "at most {} W",
        "remove": "without {}",
    }
    found = [text.format(_said(sent, key)) for key, text in said.items() if _said(sent, key)]
    if like := _said(sent, "add_like"):
        found.append(f"{_said(sent, 'add_count') or 1} more like {like}")
    return found


def _said(sent: Mapping[str, str], key: str) -> str:
    return sent.get(key, "").strip()


def _number(sent: Mapping[str, str], key: str) -> float:
    text = _said(sent, key) or "1"
    try:
        return float(text)
    except ValueError:
        raise Invalid.at(f"/{key}", "invalid", f"{text!r} is not a number.") from None
