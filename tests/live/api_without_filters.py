"""The API with its first wall taken down: every queryset shows all rows to everybody."""

import sys
from importlib import import_module
from typing import Any

from scheduler_service.api import application

__all__ = ["application"]


def no_wall(rows: Any, caller: Any, column: str = "tenant_id") -> Any:
    return rows


# After the application, which sets Django up; the addresses import every view and selector.
import_module("scheduler_service.urls")
wall = import_module("tenancy.selectors").visible
for module in list(sys.modules.values()):
    if getattr(module, "visible", None) is wall:
        module.visible = no_wall  # type: ignore[attr-defined]
