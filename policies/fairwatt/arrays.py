"""What the kernel reads and writes beside the ways of jobs: what they want, and the time ahead."""

from typing import NamedTuple

from policies.contract.columns import F64, I32, I64, Bool


class Wants(NamedTuple):
    """Per planned job; weights are money per second, times are seconds from now.

    `wait` is paid until the job's end, `omega` from `due_s` until then. `latest_s` is the latest
    start that waiting for something better may lead to. `held` is the way that stays, or -1.
    """

    wait: F64
    omega: F64
    due_s: F64
    latest_s: F64
    held: I64


class Ahead(NamedTuple):
    """The time ahead in slots; `area` is money per watt from now until each of `edges_s`.

    `free` counts GPUs over (pool, slot), with those of running jobs that may be changed; `power`
    is what the power budget leaves in each slot. Beyond the last edge a watt costs `tail` a second;
    it never costs less than `least`.
    """

    edges_s: F64
    area: F64
    free: I32
    power: F64
    tail: float
    least: float


class Made(NamedTuple):
    """A schedule: for every planned job its way, the slot it starts in and what it will cost.

    `ready` says whether it could have started now. A slot past the last is the time beyond.
    """

    chosen: I64
    slot: I64
    cost: F64
    ready: Bool
