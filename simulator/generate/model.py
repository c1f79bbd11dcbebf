"""What a cluster's jobs look like: a fitted model, stored as a small JSON file with its source."""

from pathlib import Path

import msgspec

FITTED = Path(__file__).parent / "fitted"


class Durations(msgspec.Struct, frozen=True):
    """A mixture of lognormals over log seconds, for gangs of `from_gpus` and more."""

    from_gpus: int
    weights: tuple[float, ...]
    means: tuple[float, ...]
    sigmas: tuple[float, ...]
    shortest_s: float
    longest_s: float


class JobModel(msgspec.Struct, frozen=True):
    """`by_hour` and `by_weekday` (0 is Monday) are relative arrival rates with mean 1."""

    source: str
    rows: int
    gpus: tuple[int, ...]
    gpu_shares: tuple[float, ...]
    durations: tuple[Durations, ...]
    by_hour: tuple[float, ...]
    by_weekday: tuple[float, ...]
    interarrival_cv2: float


def load_model(name: str) -> JobModel:
    return msgspec.json.decode((FITTED / f"{name}.json").read_bytes(), type=JobModel)


def model_names() -> list[str]:
    return sorted(path.stem for path in FITTED.glob("*.json"))
