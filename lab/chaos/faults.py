"""What goes wrong: a fault is begun, lasts and is healed; a seed draws which, whom, how long."""

import random
import signal
from collections.abc import Callable
from dataclasses import dataclass, field

import redis

from lab.chaos import disk, targets
from lab.chaos.check import PAST_LEASE
from lab.chaos.drip import Drip
from lab.chaos.proxy import Proxy, ProxyWire
from lab.chaos.stack import RUN_LEASE_S, Stack
from scheduler_service.embedded.ports import LOOPBACK

Heal = Callable[[], None]
DRIPPING = 24
# Its shims have ended everything, and the service has given its attempts up.
PAST_THE_LEASE_S = RUN_LEASE_S + 8.0
SMALL_DISK = "node-4"


def nothing() -> None:
    """What is killed comes back by itself."""


@dataclass(frozen=True)
class InjectedFault:
    kind: str
    target: str
    lasts_s: float
    begin: Callable[[], Heal]
    # Attempts whose shim is killed: what they had ended may have to run again.
    attempts: tuple[int, ...] = ()


@dataclass
class Faults:
    stack: Stack
    draw: random.Random
    has_small_disk: bool
    _kinds: dict[str, Callable[[], InjectedFault | None]] = field(init=False)

    def __post_init__(self) -> None:
        self._kinds = {
            "kill": self._kill,
            "stop": self._stop,
            "kill shim": self._kill_shim,
            "stop shim": self._stop_shim,
            "end sessions": self._end_sessions,
            "wipe broker": self._wipe_broker,
            "drip": self._drip,
            "cut": lambda: self._wire("cut", ProxyWire.CUT),
            "half open": lambda: self._wire("half open", ProxyWire.SILENT),
            "lose answers": lambda: self._wire("lose answers", ProxyWire.ANSWERS_LOST),
            "full disk": self._full_disk,
            "restart": lambda: self._restart("restart", signal.SIGTERM),
            "crash": lambda: self._restart("crash", signal.SIGKILL),
        }

    WEIGHTS = {"kill": 7, "stop": 5, "kill shim": 3, "cut": 2, "half open": 2, "lose answers": 3}

    def next(self) -> InjectedFault:
        """One that can be had now: there may be no shim to kill, or no disk to fill."""
        names = list(self._kinds)
        while True:
            (name,) = self.draw.choices(names, [self.WEIGHTS.get(each, 1) for each in names])
            if fault := self._kinds[name]():
                return fault

    def _program(self) -> str | None:
        programs = sorted(self.stack.pids())
        kinds = sorted({targets.kind_of(name) for name in programs})
        if not kinds:
            return None
        kind = self.draw.choice(kinds)
        return self.draw.choice([name for name in programs if targets.kind_of(name) == kind])

    def _kill(self) -> InjectedFault | None:
        if (name := self._program()) is None:
            return None
        pid = targets.victim(self.stack.pids()[name], self.draw)

        def begin() -> Heal:
            targets.send([pid], signal.SIGKILL)
            return nothing

        return InjectedFault(f"kill {targets.kind_of(name)}", name, 0.0, begin)

    def _stop(self) -> InjectedFault | None:
        if (name := self._program()) is None:
            return None
        pids = targets.members(self.stack.pids()[name])
        agent = targets.kind_of(name) == "agent"
        long = agent and self.draw.random() < 0.2
        lasts_s = PAST_THE_LEASE_S if long else self.draw.uniform(1.0, 6.0)
        kind = PAST_LEASE if long else f"stop {targets.kind_of(name)}"
        return InjectedFault(kind, name, lasts_s, lambda: self._paused(pids))

    def _paused(self, pids: list[int]) -> Heal:
        targets.send(pids, signal.SIGSTOP)
        return lambda: targets.send(pids, signal.SIGCONT)

    def _shim(self) -> tuple[int, int] | None:
        found = sorted(self.stack.shims())
        return self.draw.choice(found) if found else None

    def _kill_shim(self) -> InjectedFault | None:
        if (found := self._shim()) is None:
            return None
        attempt, pid = found

        def begin() -> Heal:
            targets.send([pid], signal.SIGKILL)
            return nothing

        return InjectedFault("kill shim", f"attempt {attempt}", 0.0, begin, (attempt,))

    def _stop_shim(self) -> InjectedFault | None:
        """Shorter than the margin of the lease: who is paused longer than that cannot keep it."""
        if (found := self._shim()) is None:
            return None
        attempt, pid = found
        lasts_s = self.draw.uniform(0.2, 1.5)
        return InjectedFault(
            "stop shim", f"attempt {attempt}", lasts_s, lambda: self._paused([pid])
        )

    def _end_sessions(self) -> InjectedFault | None:
        def begin() -> Heal:
            targets.send(targets.backends(self.stack), signal.SIGTERM)
            return nothing

        return InjectedFault("end sessions", "postgres", 0.0, begin)

    def _wipe_broker(self) -> InjectedFault | None:
        if "api" not in self.stack.pids():
            return None
        url = self.stack.environment("api")["BROKER_URL"]

        def begin() -> Heal:
            try:
                with redis.Redis.from_url(url, socket_timeout=2) as client:
                    client.flushall()
            except redis.RedisError:
                return nothing
            return nothing

        return InjectedFault("wipe broker", "broker", 0.0, begin)

    def _drip(self) -> InjectedFault | None:
        def begin() -> Heal:
            return Drip((LOOPBACK, self.stack.port), DRIPPING).close

        return InjectedFault("drip", "api", self.draw.uniform(3.0, 8.0), begin)

    def _wire(self, kind: str, wire: ProxyWire) -> InjectedFault:
        proxies: dict[str, Proxy] = {"clients": self.stack.clients, **self.stack.agents}
        name = "clients" if self.draw.random() < 0.5 else self.draw.choice(sorted(proxies))

        def begin() -> Heal:
            proxies[name].set(wire)
            return lambda: proxies[name].set(ProxyWire.WHOLE)

        whose = targets.kind_of(name)
        return InjectedFault(f"{kind} {whose}", name, self.draw.uniform(1.0, 7.0), begin)

    def _full_disk(self) -> InjectedFault | None:
        if not self.has_small_disk:
            return None
        state = self.stack.var / "agents" / SMALL_DISK

        def begin() -> Heal:
            disk.fill(state)
            return lambda: disk.empty(state)

        return InjectedFault("full disk", SMALL_DISK, self.draw.uniform(2.0, 6.0), begin)

    def _restart(self, kind: str, number: signal.Signals) -> InjectedFault:
        def begin() -> Heal:
            self.stack.stop(number)
            self.stack.start()
            return nothing

        return InjectedFault(kind, "stack", 0.0, begin)
