"""What columns are called on pages: their names in words, with the unit that ends them."""

from collections.abc import Iterable

from django.db.models import Model

UNITS = {
    "w": "W", "kw": "kW", "mw": "mW", "j": "J", "mj": "mJ", "wh": "Wh", "kwh": "kWh",
    "s": "s", "ms": "ms", "h": "hour", "mib": "MiB", "bytes": "bytes", "mhz": "MHz",
    "pct": "%", "c": "°C", "g": "g", "kg": "kg",
}  # fmt: skip
_SPELT = {
    "cpu": "CPU", "cpus": "CPUs", "gpu": "GPU", "gpus": "GPUs", "pue": "PUE", "url": "URL",
    "uuid": "UUID", "api": "API", "id": "ID",
}  # fmt: skip


def label(name: str) -> str:
    """`power_budget_w` is called power budget (W); times lose their `_at`, they are all UTC."""
    quantity, _, base = name.partition("_per_")
    words = quantity.split("_")
    if len(words) > 1 and words[-1] == "at":
        return spelt(" ".join(words[:-1]))
    if not base:
        return _with_unit(words)
    if base in UNITS and len(words) > 1 and words[-1] in UNITS:
        return f"{spelt(' '.join(words[:-1]))} ({UNITS[words[-1]]}/{UNITS[base]})"
    return f"{_with_unit(words)} per {UNITS.get(base) or spelt(base.replace('_', ' '))}"


def spelt(words: str) -> str:
    """Abbreviations in the letters that people write them in."""
    return " ".join(_SPELT.get(word.lower(), word) for word in words.split())


def _with_unit(words: list[str]) -> str:
    if len(words) == 1 or words[-1] not in UNITS:
        return spelt(" ".join(words))
    unit, rest = UNITS[words[-1]], words[:-1]
    if rest[-1] == "gpu" and len(rest) > 1:
        return f"{spelt(' '.join(rest[:-1]))} (GPU {unit})"
    return f"{spelt(' '.join(rest))} ({unit})"


def label_columns(models: Iterable[type[Model]]) -> None:
    """Migrations do not see this: what a model says itself is kept apart from what is shown."""
    for model in models:
        for column in model._meta.local_fields:
            if column.verbose_name == column.name.replace("_", " "):
                column.verbose_name = label(column.name)
