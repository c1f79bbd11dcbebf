"""Why a job waits, runs or failed."""

from datetime import datetime
from typing import Any

from msgspec import Struct

from fairwatt.structs.words import JobState


class Remedy(Struct, frozen=True):
    """What would start it sooner."""

    action: str
    text: str
    to: int | None = None
    by: float | None = None
    name: str | None = None
    id: int | None = None


class StartForecast(Struct, frozen=True):
    """When it starts; four of five starts lie between the bounds."""

    start_at: datetime
    low_at: datetime | None
    high_at: datetime | None
    made_at: datetime


class Explanation(Struct, frozen=True):
    """Why a job is where it is, what shows it, and what would help."""

    job_id: int
    state: JobState
    reason: str
    text: str
    position: int | None
    expected_start_at: datetime | None
    round_id: int | None
    round_at: datetime | None
    evidence: dict[str, Any]
    profile_basis: str
    profile_text: str
    remedies: list[Remedy]
    forecast: StartForecast | None
