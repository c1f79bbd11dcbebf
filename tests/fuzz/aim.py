"""Lets valid requests hit rows that exist: what is drawn at random is never a name we know."""

import random
import re
from collections.abc import Callable
from typing import Any

from schemathesis import Case, Response
from schemathesis.core.parameters import ParameterLocation

from tests.live.world import World

_PLACE = re.compile(r"(?P<collection>[^/]+)/\{(?P<name>\w+)\}")
_LOCATION = re.compile(r"/api/v1/(?P<collection>[^/]+)/(?P<id>\d+)/")
# Rows made lately are better targets than those that others have already deleted.
RECENT = 20


class Aim:
    def __init__(self, world: World, protected_tokens: set[int], source: random.Random) -> None:
        self.random = source
        self.protected_tokens = protected_tokens
        known = {**world.shared, **world.ours}
        self.ids = {collection: [row] for collection, row in known.items()}
        self.references: dict[str, Callable[[], Any]] = {
            name: (lambda values=values: self.random.choice(values))  # type: ignore[misc]
            for name, values in _names(world).items()
        }
        self.references["depends_on"] = lambda: [{"job": self._id("jobs")}]

    def before_call(self, context: Any, case: Case[Any], kwargs: dict[str, Any]) -> None:
        if case.meta is None:
            return
        if not case.meta.is_negative_at(ParameterLocation.PATH):
            self._aim_path(case)
        if not case.meta.generation.mode.is_positive:
            return
        if "If-Match" in (case.headers or {}) and self.random.random() < 0.8:
            case.headers["If-Match"] = "*"
        if case.query:
            case.query = self._aimed(case.query)
        if isinstance(case.body, dict):
            case.body = self._aimed(case.body)

    def after_call(self, context: Any, case: Case[Any], response: Response) -> None:
        for location in response.headers.get("location", []):
            if made := _LOCATION.fullmatch(location):
                self.ids.setdefault(made["collection"], []).append(int(made["id"]))

    def _aim_path(self, case: Case[Any]) -> None:
        for place in _PLACE.finditer(case.path):
            collection, name = place["collection"], place["name"]
            known = self.ids[collection]
            if case.path_parameters.get(name) not in known and self.random.random() < 0.8:
                case.path_parameters[name] = self._id(collection)
            # Without its own token a role would only be refused from here on.
            if collection == "tokens" and case.path_parameters[name] in self.protected_tokens:
                case.path_parameters[name] = self.ids["tokens"][0]

    def _id(self, collection: str) -> int | str:
        return self.random.choice(self.ids[collection][-RECENT:])

    def _aimed(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._aimed(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            name: self.references[name]()
            if name in self.references and item is not None and self.random.random() < 0.8
            else self._aimed(item)
            for name, item in value.items()
        }


def _names(world: World) -> dict[str, list[Any]]:
    """By the name of the member or parameter that refers to them."""
    return {
        "tenant": ["ours-tenant"],
        "tenant_id": [world.ours["tenants"]],
        "profile": ["ours-profile"],
        "username": ["ada", "ours-person"],
        "cluster": ["demo"],
        "partition": ["main"],
        "switch": ["leaf"],
        "rack": ["rack"],
        "gpu_type": ["A100"],
        "gpu_types": [["A100"], []],
        "tariff": ["spot"],
        "carbon_series": ["de"],
        "timezone": ["UTC", "Europe/Berlin"],
        "csv": [
            "starts_at,price_per_kwh\n2026-01-31T08:00Z,0.1\n",
            "starts_at,g_per_kwh\n2026-01-31T08:00Z,213\n",
        ],
    }
