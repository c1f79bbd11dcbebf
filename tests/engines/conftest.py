"""The world of tests/jobs."""

from tests.jobs.conftest import World, member, operator, stranger, submit, world

__all__ = ["World", "member", "operator", "stranger", "submit", "world"]
