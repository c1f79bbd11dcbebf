"""How far fairwatt's rounds are from their lower bound in ANDREAS' experiment."""

from dataclasses import dataclass
from typing import Any

from lab.experiments.andreas.settings import INSTANCES, PACE, AndreasCase
from lab.experiments.andreas.settings import setting_of as andreas_setting
from lab.experiments.andreas.tariff import TariffName
from lab.experiments.published import build_published
from simulator.engine import Engine
from simulator.gap_watch import GapWatch

NODES = 20
EVERY = 25
TARIFFS: tuple[TariffName, ...] = ("flat", "time-of-use")


@dataclass(frozen=True, slots=True)
class GapCase:
    instance: int
    tariff: TariffName

    def name(self) -> str:
        return f"gap (N={NODES}, instance {self.instance}, {self.tariff})"

    def run(self) -> dict[str, Any]:
        case = AndreasCase(NODES, self.instance, "fairwatt", tariff=self.tariff)
        watch = GapWatch(build_published(*case.policy()), every=EVERY)
        Engine(andreas_setting(case), watch, PACE).run()
        return {"gaps": watch.gaps}


def gap_cases() -> list[GapCase]:
    return [GapCase(instance, tariff) for tariff in TARIFFS for instance in INSTANCES]
