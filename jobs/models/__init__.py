"""Tables of the work, one file per subject."""

from jobs.models.artifact import Artifact
from jobs.models.attempt import Allocation, Attempt
from jobs.models.job import Job, JobArray, JobDependency, JobEvent
from jobs.models.log import Log, LogChunk
from jobs.models.part import Part
from jobs.models.profile import Profile, ProfileFit, ProfilePoint, ProfilingRun
from jobs.models.quota import GpuQuota

__all__ = [
    "Allocation",
    "Artifact",
    "Attempt",
    "GpuQuota",
    "Job",
    "JobArray",
    "JobDependency",
    "JobEvent",
    "Log",
    "LogChunk",
    "Part",
    "Profile",
    "ProfileFit",
    "ProfilePoint",
    "ProfilingRun",
]
