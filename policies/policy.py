"""What every policy is."""

from typing import Protocol

from policies.plan import Plan
from policies.snapshot import Snapshot


class Policy(Protocol):
    @property
    def work_conserving(self) -> bool:
        """Whether no job is left waiting that could start on what is left free."""

    @property
    def minds_running(self) -> bool:
        """Whether it may change running jobs or nodes while no job is queued."""

    def plan(self, snapshot: Snapshot) -> Plan:
        """Pure: the same snapshot and parameters give the same plan, byte for byte."""
