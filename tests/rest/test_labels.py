"""Columns are called as people read them, and migrations do not notice."""

import pytest

from clusters.models import Cluster
from rest.labels import label, spelt


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("power_budget_w", "power budget (W)"),
        ("energy_budget_wh", "energy budget (Wh)"),
        ("round_interval_s", "round interval (s)"),
        ("memory_mib_per_gpu", "memory (MiB) per GPU"),
        ("storage_mib_per_s", "storage (MiB/s)"),
        ("price_per_kwh", "price per kWh"),
        ("g_per_kwh", "g per kWh"),
        ("max_tardiness_price_per_h", "max tardiness price per hour"),
        ("attained_gpu_s", "attained (GPU s)"),
        ("next_round_at", "next round"),
        ("at", "at"),
        ("pue", "PUE"),
        ("gpus_in_use", "GPUs in use"),
        ("name", "name"),
    ],
)
def test_names_in_words(name: str, said: str) -> None:
    assert label(name) == said


def test_abbreviations() -> None:
    assert spelt("Gpu types") == "GPU types"


def test_models_show_them() -> None:
    column = Cluster._meta.get_field("power_budget_w")
    assert column.verbose_name == "power budget (W)"
    assert "verbose_name" not in column.deconstruct()[3]
