"""What a profile says of one configuration."""

import math
from dataclasses import asdict
from typing import Any

from clusters.models import GpuType
from jobs.models import Profile, ProfileFit
from jobs.profiling.knowledge import applications
from jobs.profiling.performance.application import Prediction
from rest.problems import Invalid


def prediction(
    profile: Profile,
    *,
    gpu_type: str = "",
    gpus: int = 1,
    clock: int | None = None,
    cpus: float | None = None,
    memory: float | None = None,
) -> dict[str, Any]:
    kind = GpuType.objects.filter(name=gpu_type).first()
    if kind is None:
        raise Invalid.at("?gpu_type", "unknown_gpu_type", "Name a GPU type that exists.")
    if not 1 <= gpus <= 4096:
        raise Invalid.at("?gpus", "out_of_range", "A job has 1 to 4096 GPUs.")
    if clock is not None and kind.clocks_mhz and clock not in kind.clocks_mhz:
        clocks = ", ".join(str(mhz) for mhz in sorted(kind.clocks_mhz))
        raise Invalid.at("?clock", "unknown_clock", f"{kind.name} has the clocks {clocks} MHz.")
    found = applications([profile.pk])[profile.pk].predict(
        kind.name,
        gpus,
        float(clock or 0),
        cpus_per_gpu=math.nan if cpus is None else cpus,
        mem_mib_per_gpu=math.nan if memory is None else memory,
    )
    newest = ProfileFit.objects.filter(profile=profile).order_by("-number")
    return {
        "profile_id": profile.pk,
        "fit": newest.values_list("number", flat=True).first(),
        "gpu_type": kind.name,
        "gpus": gpus,
        "clock_mhz": clock,
        "cpus_per_gpu": cpus,
        "memory_mib_per_gpu": memory,
        **_as_fields(found),
    }


def _as_fields(found: Prediction) -> dict[str, Any]:
    """A neutral speed is no speed: it only says how one number of GPUs compares with another."""
    values = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(found).items()
    }
    if found.source == "neutral":
        values |= {"steps_per_s": None, "low": None, "high": None}
    return {**values, "leaves": list(found.leaves), "extrapolated": found.extrapolated}
