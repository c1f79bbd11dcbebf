"""Profiles: how a kind of job behaves."""

from datetime import datetime
from typing import Any

from msgspec import Struct


class PointSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How fast it went, and what it drew, in one configuration."""

    gpu_type: str
    gpus: int
    steps_per_s: float
    clock_mhz: int | None = None
    watts_per_gpu: float | None = None
    cpus_per_gpu: float | None = None
    memory_mib_per_gpu: float | None = None


class ProfileSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A profile to be stored: measured points, and what one epoch and one step read."""

    name: str
    tenant: str | None = None
    points: list[PointSpec] = []
    dataset_mib: float | None = None
    step_mib: float | None = None
    storage_mib_per_s: float | None = None


class ProfilingSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A short run that is taken through CPUs and clocks to measure a profile."""

    argv: list[str]
    cluster: str = ""
    env: dict[str, str] = {}
    image: str | None = None
    partition: str | None = None
    gpu_types: list[str] = []
    cpus: int | None = None
    memory_mib: int | None = None
    priority: int | None = None


class Point(Struct, frozen=True):
    """What was measured in one configuration."""

    gpu_type: str
    gpus: int
    steps_per_s: float
    clock_mhz: int | None
    watts_per_gpu: float | None
    cpus_per_gpu: float | None
    memory_mib_per_gpu: float | None


class Fit(Struct, frozen=True):
    """Models fitted to the points."""

    number: int
    cause: str
    points: int
    mean_error: float | None
    worst_error: float | None
    models: dict[str, Any]
    made_at: datetime


class Profile(Struct, frozen=True):
    """How a kind of job behaves."""

    id: int
    name: str
    tenant: str
    basis: str
    inline: bool
    dataset_mib: float | None
    step_mib: float | None
    storage_mib_per_s: float | None
    points: list[Point]
    fit: Fit | None
    fit_refused: str
    drift: str
    drift_at: datetime | None
    version: int
    created_at: datetime
    updated_at: datetime


class Swept(Struct, frozen=True):
    """One configuration of a profiling run."""

    clock_mhz: int | None
    cpus: int
    steps_per_s: float | None
    watts: float | None


class ProfilingRun(Struct, frozen=True):
    """A short run that measures a profile."""

    id: int
    profile_id: int
    job_id: int
    cluster: str
    state: str
    detail: str
    measured: list[Swept]
    created_at: datetime
    admitted_at: datetime | None
    began_at: datetime | None
    ended_at: datetime | None


class Prediction(Struct, frozen=True):
    """How fast a job would go, and what it would draw."""

    profile_id: int
    fit: int | None
    gpu_type: str
    gpus: int
    clock_mhz: int | None
    cpus_per_gpu: float | None
    memory_mib_per_gpu: float | None
    source: str
    steps_per_s: float | None
    low: float | None
    high: float | None
    watts_per_gpu: float | None
    low_w: float | None
    high_w: float | None
    extrapolated: bool
    leaves: list[str]
