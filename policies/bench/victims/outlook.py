"""Who claims room, what was found for it, and how much there is to find."""

from typing import NamedTuple

import numpy as np

from policies.bench.victims.cover import Victim
from policies.bench.victims.releasing import Releasing
from policies.bench.victims.table import Victims
from policies.contract.columns import F64, I64


class Preemptor(NamedTuple):
    row: int
    key: float
    tenant: int
    partition: int


class Stops(NamedTuple):
    victims: list[Victim]
    nodes: list[int]


class Outlook(NamedTuple):
    """Per node: GPUs free soon, GPUs of stoppable jobs, and the least cost per GPU of those."""

    soon: I64
    stoppable: I64
    per_gpu: F64

    @classmethod
    def of(cls, preemptor: Preemptor, victims: Victims, releasing: Releasing) -> "Outlook":
        soon = releasing.soon()
        mine = victims.open_to(preemptor.key, preemptor.partition)[victims.pieces.job]
        node, gpus = victims.pieces.node[mine], victims.pieces.gpus[mine]
        per_gpu = np.full(len(soon), np.finfo(np.float64).max)
        np.minimum.at(per_gpu, node, victims.cost_gpu_s[victims.pieces.job[mine]] / gpus)
        stoppable = np.bincount(node, gpus, minlength=len(soon)).astype(np.int64)
        return cls(soon, stoppable, per_gpu)
