"""Quantities as people read them, and little else that templates cannot say."""

from typing import Any

from django import template

from rest import quantities

register = template.Library()

for each in (
    quantities.watts,
    quantities.energy,
    quantities.kwh,
    quantities.wh,
    quantities.mass,
    quantities.money,
    quantities.percent,
    quantities.number,
    quantities.length_of,
    quantities.since,
    quantities.moment,
    quantities.minute,
    quantities.words,
):
    register.filter(each.__name__, each)


@register.filter
def share_of(part: float | None, whole: float | None) -> int:
    """Per cent for a bar, which ends at the whole."""
    return min(100, round(100 * float(part or 0) / float(whole))) if whole else 0


@register.filter
def entry(mapping: dict[Any, Any], key: Any) -> Any:
    return mapping.get(key)
