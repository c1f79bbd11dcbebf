"""Power budgets that come and go while the live queue is run forward."""

from dataclasses import replace
from datetime import datetime
from math import inf

import numpy as np

from clusters.models import Cluster
from energy.budgets.power import LEAD, corrections_w, spans, windows
from energy.models import PowerBudget
from policies.contract.snapshot import PartitionTable, Snapshot
from simulator.budget_response import BudgetWindow


class PowerWindows:
    """Budgets as rounds plan with them: a little earlier, and less what the model is wrong by."""

    def __init__(self, cluster: Cluster, snapshot: Snapshot) -> None:
        self._cluster = cluster
        self._wrong_w = corrections_w(cluster)
        self._partition_ids = snapshot.partitions.id
        self._now_s = snapshot.now_s

    def until(
        self, until_at: datetime, *, now: datetime, but: PowerBudget | None = None
    ) -> list[BudgetWindow]:
        """Those in force at some time from now on, `but` one."""
        found = windows(self._cluster, from_at=now, until_at=until_at)
        return [
            self.window(row, start, end)
            for row in found
            if but is None or row.pk != but.pk
            for start, end in spans(row, now, until_at)
        ]

    def window(self, row: PowerBudget, start: datetime, end: datetime) -> BudgetWindow:
        rows = np.flatnonzero(self._partition_ids == (row.partition_id or -1)).tolist()
        return BudgetWindow(
            max((start - LEAD).timestamp(), self._now_s),
            end.timestamp(),
            float(row.watts) - self._wrong_w.get(row.partition_id, 0.0),
            rows[0] if rows else -1,
        )

    def left_out_of(self, snapshot: Snapshot) -> Snapshot:
        """The cluster's own budget only."""
        columns = dict(snapshot.partitions.columns())
        columns["power_budget_w"] = np.full(len(snapshot.partitions), np.inf)
        own_w = float(self._cluster.power_budget_w or inf) - self._wrong_w.get(None, 0.0)
        return replace(snapshot, power_budget_w=own_w, partitions=PartitionTable.of(**columns))
