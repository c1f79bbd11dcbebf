"""The Python client of Fairwatt: `Client`, `AsyncClient`, and helpers for programs that are jobs.

A training script imports this for `progress` alone, so everything else is imported when it is
first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fairwatt.in_job import (
    checkpoint,
    checkpoint_dir,
    cpus,
    job_id,
    on_preemption,
    preempted,
    progress,
    restore,
)

if TYPE_CHECKING:
    from fairwatt.asynchronous import AsyncClient
    from fairwatt.errors import (
        Conflict,
        FairwattError,
        Forbidden,
        Invalid,
        JobFailed,
        NotFairwatt,
        NotFound,
        NotLoggedIn,
        Refused,
        ServerTooOld,
        ServiceFault,
        Stale,
        Throttled,
        Unreachable,
        WaitedTooLong,
    )
    from fairwatt.job_file import JobFileError, read_job_file
    from fairwatt.profiles import ProfileError
    from fairwatt.receiving import WebhookMessage, WebhookRefused, verify_webhook
    from fairwatt.structs.arrays import ArraySpec
    from fairwatt.structs.jobs import (
        ArtifactPath,
        Dependency,
        Job,
        JobPatch,
        JobSpec,
        Mount,
        SecretUse,
        Workdir,
    )
    from fairwatt.structs.profiles import PointSpec, ProfileSpec, ProfilingSpec
    from fairwatt.structs.whatif import (
        Generate,
        GpuModel,
        Machines,
        Nodes,
        PolicyChoice,
        PowerBudgetSpec,
        SimulationSpec,
        Trace,
    )
    from fairwatt.structs.words import JobState
    from fairwatt.synchronous import Client

__version__ = "0.1.0"

_HOMES = {
    "Client": "synchronous",
    "AsyncClient": "asynchronous",
    "JobFileError": "job_file",
    "read_job_file": "job_file",
    "ProfileError": "profiles",
    **dict.fromkeys(("WebhookMessage", "WebhookRefused", "verify_webhook"), "receiving"),
    "ArraySpec": "structs.arrays",
    **dict.fromkeys(
        (
            "Conflict",
            "FairwattError",
            "Forbidden",
            "Invalid",
            "JobFailed",
            "NotFairwatt",
            "NotFound",
            "NotLoggedIn",
            "Refused",
            "ServerTooOld",
            "ServiceFault",
            "Stale",
            "Throttled",
            "Unreachable",
            "WaitedTooLong",
        ),
        "errors",
    ),
    **dict.fromkeys(
        (
            "ArtifactPath",
            "Dependency",
            "Job",
            "JobPatch",
            "JobSpec",
            "Mount",
            "SecretUse",
            "Workdir",
        ),
        "structs.jobs",
    ),
    "JobState": "structs.words",
    **dict.fromkeys(("PointSpec", "ProfileSpec", "ProfilingSpec"), "structs.profiles"),
    **dict.fromkeys(
        (
            "Generate",
            "GpuModel",
            "Machines",
            "Nodes",
            "PolicyChoice",
            "PowerBudgetSpec",
            "SimulationSpec",
            "Trace",
        ),
        "structs.whatif",
    ),
}

__all__ = [
    "ArraySpec",
    "ArtifactPath",
    "AsyncClient",
    "Client",
    "Conflict",
    "Dependency",
    "FairwattError",
    "Forbidden",
    "Generate",
    "GpuModel",
    "Invalid",
    "Job",
    "JobFailed",
    "JobFileError",
    "JobPatch",
    "JobSpec",
    "JobState",
    "Machines",
    "Mount",
    "Nodes",
    "NotFairwatt",
    "NotFound",
    "NotLoggedIn",
    "PointSpec",
    "PolicyChoice",
    "PowerBudgetSpec",
    "ProfileError",
    "ProfileSpec",
    "ProfilingSpec",
    "Refused",
    "SecretUse",
    "ServerTooOld",
    "ServiceFault",
    "SimulationSpec",
    "Stale",
    "Throttled",
    "Trace",
    "Unreachable",
    "WaitedTooLong",
    "WebhookMessage",
    "WebhookRefused",
    "Workdir",
    "checkpoint",
    "checkpoint_dir",
    "cpus",
    "job_id",
    "on_preemption",
    "preempted",
    "progress",
    "read_job_file",
    "restore",
    "verify_webhook",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fairwatt' has no attribute {name!r}")
    return getattr(import_module(f"fairwatt.{_HOMES[name]}"), name)
