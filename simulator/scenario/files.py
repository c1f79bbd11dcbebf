"""Where the files named in a scenario are."""

import os
from pathlib import Path

DEFAULT_DATA = "../shared/data"


def data_directory() -> Path:
    return Path(os.environ.get("FAIRWATT_DATA", DEFAULT_DATA))


def data_path(name: str, beside: Path) -> Path:
    """Beside the scenario, else in FAIRWATT_DATA."""
    near = beside / name
    return near if near.exists() else data_directory() / name
