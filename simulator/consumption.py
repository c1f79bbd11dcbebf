"""What a world draws: joules of tenants and of idle nodes, and what budgets leave of them."""

from collections.abc import Iterable

import numpy as np

from policies.contract.columns import F64
from policies.contract.snapshot import NodeState
from policies.pricing.peak import metered
from simulator.budgets import Allowance, Purse
from simulator.meter import UtilityMeter
from simulator.setting import Setting


class Consumption:
    """Joules are counted as if every change of the watts had been there from the start."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._origin_s = setting.origin_s
        self._joules = np.zeros(len(setting.tenants))
        self._draw_w = np.zeros(len(setting.tenants))
        self._idle_w: list[float] = setting.machines.idle_w().tolist()
        on = setting.machines.nodes.state != NodeState.OFF
        self._idle_draw_w = float(setting.machines.idle_w()[on].sum())
        self._idle_joules = 0.0
        self.meter = self._metering(setting)
        self._purse = Purse(setting.allowance or Allowance(), setting.origin_s)

    def draw(self, now_s: float, tenant: int, watts: float) -> None:
        """A job of the tenant draws so much more from now on."""
        self._draw_w[tenant] += watts
        self._joules[tenant] -= watts * (now_s - self._origin_s)
        if self.meter:
            self.meter.change(now_s, watts * self._setting.pue)

    def use(self, now_s: float, nodes: Iterable[int], sign: int) -> None:
        """Nodes get their first job, or lose their last: some only draw while they have one."""
        if self.meter and self._setting.empty_nodes_off:
            watts = sign * sum(self._idle_w[node] for node in nodes)
            self.meter.change(now_s, watts * self._setting.pue)

    def switch(self, now_s: float, node: int, *, on: bool) -> None:
        more_w = self._idle_w[node] * (1 if on else -1)
        self._idle_draw_w += more_w
        self._idle_joules -= more_w * (now_s - self._origin_s)
        if self.meter and not self._setting.empty_nodes_off:
            self.meter.change(now_s, more_w * self._setting.pue)

    def peak(self, now_s: float) -> tuple[float, float]:
        """The peak that counts now, and what every watt above it costs."""
        return self.meter.seen(now_s) if self.meter else (0.0, 0.0)

    def budgets(self, now_s: float) -> tuple[float, float, float]:
        """Watts now, joules left, and until when those must last."""
        setting, allowance = self._setting, self._setting.allowance
        if allowance is None:
            return setting.power_budget_w, np.inf, np.inf
        power_budget_w = min(setting.power_budget_w, allowance.watts_at(now_s))
        drawn_w = float(self._draw_w.sum()) + self._idle_draw_w
        used_j = float(self._joules.sum()) + self._idle_joules
        used_j += drawn_w * (now_s - self._origin_s)
        return power_budget_w, *self._purse.left(now_s, used_j * setting.pue)

    def left_j(self, now_s: float) -> F64:
        """What is left to every tenant."""
        used_j = self._joules + self._draw_w * (now_s - self._origin_s)
        return self._setting.tenants.energy_left_j - used_j * self._setting.pue

    def _metering(self, setting: Setting) -> UtilityMeter | None:
        """None where nothing is charged for demand."""
        tariff = metered(setting.tariff)
        if tariff is None:
            return None
        meter = UtilityMeter(tariff, setting.origin_s, setting.peak_w)
        if not setting.empty_nodes_off:
            meter.change(setting.origin_s, self._idle_draw_w * setting.pue)
        return meter
