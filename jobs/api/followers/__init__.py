"""Tenants' streams without threads: thousands follow jobs and logs over one process's few reads."""
