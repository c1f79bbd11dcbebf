"""Rounds and decisions in the admin, and jobs with what rounds say of them."""

from scheduling.admin import jobs, rounds

__all__ = ["jobs", "rounds"]
