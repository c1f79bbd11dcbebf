"""The work for operators: jobs to act on, profiles to edit, and history to read."""

from jobs.admin import attempts, energy, jobs, profiles, rounds

__all__ = ["attempts", "energy", "jobs", "profiles", "rounds"]
