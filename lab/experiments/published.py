"""Policies as their papers have them: no node is kept for who waits long."""

from collections.abc import Mapping
from typing import Any

from policies.contract.policy import Policy
from policies.registry import build

# The most that any policy takes.
ENDLESS_S = 365 * 86400.0


def build_published(name: str, parameters: Mapping[str, Any]) -> Policy:
    return build(name, {"patience_s": ENDLESS_S, **parameters})
