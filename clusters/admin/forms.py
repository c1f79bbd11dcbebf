"""The form of pages that staff writes, where the jobs' pages import it."""

from rest.admin import ServiceForm

__all__ = ["ServiceForm"]
