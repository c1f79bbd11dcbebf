"""Where the data is: the simulator's answer, and a stricter one for programs that write there."""

import os
from pathlib import Path

from lab.data.errors import DataError
from simulator.scenario.files import data_directory

__all__ = ["chosen_directory", "data_directory"]


def chosen_directory() -> Path:
    """Only what was named: a default must not decide where files are written."""
    if not os.environ.get("FAIRWATT_DATA"):
        raise DataError(
            "FAIRWATT_DATA is not set: name the directory to fetch into, "
            'for example export FAIRWATT_DATA="$PWD/var/data"'
        )
    return data_directory()
