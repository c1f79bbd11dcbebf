"""Arrays: many jobs submitted as one."""

from datetime import datetime

from msgspec import Struct

from fairwatt.structs.jobs import JobSpec


class ArraySpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`size` jobs like `job`, all or none, with indexes from 0."""

    name: str
    size: int
    job: JobSpec


class States(Struct, frozen=True):
    """How many jobs of an array are in each state."""

    queued: int
    placed: int
    running: int
    preempting: int
    succeeded: int
    failed: int
    cancelled: int


class Array(Struct, frozen=True):
    """Many jobs submitted as one."""

    id: int
    name: str
    tenant: str
    size: int
    created_at: datetime


class ArrayDetail(Array, frozen=True):
    """An array, with how its jobs stand."""

    states: States
