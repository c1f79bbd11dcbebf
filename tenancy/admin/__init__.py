"""Tenancy for operators: tenants, people, tokens, and the audit to read."""

from tenancy.admin import audit, people

__all__ = ["audit", "people"]
