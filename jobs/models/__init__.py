"""Tables of the work, one file per subject."""

from jobs.models.attempt import Allocation, Attempt
from jobs.models.energy import LedgerRow, Meter
from jobs.models.job import Job, JobArray, JobDependency, JobEvent
from jobs.models.log import Log, LogChunk
from jobs.models.part import Part
from jobs.models.profile import Profile, ProfileFit, ProfilePoint, ProfilingRun
from jobs.models.round import Decision, Round

__all__ = [
    "Allocation",
    "Attempt",
    "Decision",
    "Job",
    "JobArray",
    "JobDependency",
    "JobEvent",
    "LedgerRow",
    "Log",
    "LogChunk",
    "Meter",
    "Part",
    "Profile",
    "ProfileFit",
    "ProfilePoint",
    "ProfilingRun",
    "Round",
]
