"""The base of pages that staff writes, under the name by which the jobs' pages import it."""

from rest.services import Values
from tenancy.staff import StaffAdmin as ServiceAdmin

__all__ = ["ServiceAdmin", "Values"]
