"""What GPUs draw: the types that ship with the project, or what the site says of its own."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from simulator.advice.faults import AdviceError

# Read as a file, since nothing imports the lab: `python -m lab calibrate` writes it.
SHIPPED = Path(__file__).parents[2] / "lab" / "calibration" / "fitted" / "gpu_types.json"
# Slices of a GPU (`a100_1g.5gb`) draw nobody knows what.
_SLICE = re.compile(r"\dg\.\d")
_GIVEN = re.compile(r"^([^=]+)=([\d.]+):([\d.]+)(?::([\d.]+))?$")


class GpuWatts(NamedTuple):
    """Idle and in a job; `error` is how far, as a share, the watts of a job may be off."""

    idle_w: float
    max_w: float
    error: float
    source: str

    def text(self) -> str:
        between = f"{self.idle_w:g} W idle, {self.max_w:g} W ±{self.error:.0%} in a job"
        return f"{between.replace('%', ' %')} ({self.source})"


class _Sheet(msgspec.Struct):
    name: str
    idle_w: float
    max_w: float
    source: str
    power_error: float | None


def shipped() -> dict[str, GpuWatts]:
    """A type whose error was never measured is taken to be as uncertain as the worst that was."""
    sheets = msgspec.json.decode(SHIPPED.read_bytes(), type=list[_Sheet])
    worst = max(sheet.power_error or 0.0 for sheet in sheets)
    return {
        sheet.name.casefold(): GpuWatts(
            sheet.idle_w,
            sheet.max_w,
            worst if sheet.power_error is None else sheet.power_error,
            sheet.source,
        )
        for sheet in sheets
    }


def given_watts(texts: Sequence[str]) -> dict[str, GpuWatts]:
    """Of `TYPE=IDLE:MAX` or `TYPE=IDLE:MAX:ERROR`."""
    worst = max(known.error for known in shipped().values())
    found = {}
    for text in texts:
        match = _GIVEN.match(text)
        try:
            kind, idle_w, max_w, error = match.groups() if match else ("", "", "", "")
            watts = GpuWatts(
                float(idle_w), float(max_w), float(error) if error else worst, "as given"
            )
        except ValueError:
            raise AdviceError(
                f"--gpu-watts {text}: expected TYPE=IDLE:MAX or TYPE=IDLE:MAX:ERROR in watts, "
                "such as h100=70:700:0.1"
            ) from None
        if not 0 <= watts.idle_w < watts.max_w or not 0 <= watts.error < 1:
            raise AdviceError(f"--gpu-watts {text}: expected IDLE below MAX, and ERROR below 1")
        found[kind.strip().casefold()] = watts
    return found


def watts_of(kind: str, given: Mapping[str, GpuWatts]) -> GpuWatts:
    """By its name, or by a word of it: `nvidia_a100-sxm4-40gb` is an A100."""
    name, known = kind.casefold(), shipped() | dict(given)
    if name in known:
        return known[name]
    words = [] if _SLICE.search(name) else re.split(r"[^a-z0-9]+", name)
    for word in words:
        if word in known:
            return known[word]
    raise AdviceError(
        f"nobody has told what a GPU of type {kind!r} draws: say it with "
        f"--gpu-watts {kind}=IDLE:MAX (known are {', '.join(sorted(known))})"
    )
