"""The work for operators: jobs to act on, profiles and quotas to edit, and history to read."""

from jobs.admin import attempts, jobs, logs, profiles, quotas

__all__ = ["attempts", "jobs", "logs", "profiles", "quotas"]
