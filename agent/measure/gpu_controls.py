"""Clocks and caps of held GPUs; what was set is journalled, so that it is also taken back."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from agent.devices.base import ControlRefusedError, Device
from agent.remember.journal import Entry, Journal


@dataclass(frozen=True, slots=True)
class GpuSetting:
    clock_mhz: int | None = None
    power_cap_w: int | None = None


FREE = GpuSetting()


class GpuControls:
    """A refusal is kept and reported; it never stops an attempt."""

    def __init__(self, devices: Mapping[str, Device], journal: Journal) -> None:
        self._devices, self._journal = devices, journal
        self.settings = dict.fromkeys(devices, FREE)
        self.refusals = dict.fromkeys(devices, "")
        self._asked = dict.fromkeys(devices, FREE)
        for entry in journal.entries:
            if entry["event"] == "control" and entry["uuid"] in devices:
                setting = GpuSetting(entry["clock_mhz"], entry["power_cap_w"])
                self.settings[entry["uuid"]] = self._asked[entry["uuid"]] = setting

    def apply(self, uuid: str, wanted: GpuSetting) -> None:
        """Bring a GPU to the setting; what it already has is left, what it refused not repeated."""
        if self._asked[uuid] == wanted:
            return
        # Written first: should the agent die between, the next one takes back too much, not too
        # little.
        self._note(uuid, wanted)
        self._asked[uuid] = wanted
        before, device = self.settings[uuid], self._devices[uuid]
        refusals: list[str] = []
        clock_mhz = _change(
            before.clock_mhz, wanted.clock_mhz, device.lock_clock, device.unlock_clock, refusals
        )
        cap_w = _change(
            before.power_cap_w, wanted.power_cap_w, device.cap_power, device.uncap_power, refusals
        )
        self.settings[uuid] = GpuSetting(clock_mhz, cap_w)
        self.refusals[uuid] = "; ".join(refusals)[:200]
        if refusals:
            self._note(uuid, self.settings[uuid])

    def entries(self) -> Iterator[Entry]:
        """What a compacted journal must still say."""
        return (_entry(uuid, setting) for uuid, setting in self.settings.items() if setting != FREE)

    def _note(self, uuid: str, setting: GpuSetting) -> None:
        self._journal.append(**_entry(uuid, setting))


def _entry(uuid: str, setting: GpuSetting) -> Entry:
    return {
        "event": "control",
        "uuid": uuid,
        "clock_mhz": setting.clock_mhz,
        "power_cap_w": setting.power_cap_w,
    }


def _change(
    before: int | None,
    wanted: int | None,
    put: Callable[[int], None],
    free: Callable[[], None],
    refusals: list[str],
) -> int | None:
    """What holds afterwards."""
    if before == wanted:
        return before
    try:
        if wanted is None:
            free()
        else:
            put(wanted)
    except ControlRefusedError as refusal:
        refusals.append(str(refusal))
        return before
    return wanted
