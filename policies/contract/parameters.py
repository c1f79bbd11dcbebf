"""Parameter models of the policies, and how a bad parameter is reported."""

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from policies.bench.ladder import ClockName
from policies.bench.placement import PlacementName
from policies.synergy.packing import PackingName

SynergyOrdering = Literal["fifo", "srtf", "las", "ftf"]


class ParameterError(ValueError):
    """A refused policy name or parameter; `pointer` is an RFC 6901 pointer into the parameters."""

    def __init__(self, code: str, pointer: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.pointer = pointer
        self.message = message


class Finite(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Parameters whose numbers are all finite."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"Expected a finite number - at `$.{name}`")


class Parameters(Finite, frozen=True):
    """What every classic policy understands."""

    placement: Annotated[
        PlacementName,
        Meta(
            description="pack: fullest node that fits. spread: emptiest node. consolidate: pack, "
            "and gangs within a rack, then a switch. buddy: aligned power-of-two blocks. "
            "random: any node that fits."
        ),
    ] = "pack"
    min_run_s: Annotated[
        float,
        Meta(ge=0, le=7 * 86400, description="Seconds a started job is safe from preemption."),
    ] = 60.0
    max_preemptions: Annotated[
        int, Meta(ge=0, le=100_000, description="Most jobs that one round may stop.")
    ] = 256
    clock: Annotated[
        Literal["max", "efficient"],
        Meta(
            description="Clock of started jobs: the highest, or the one of least joules per work "
            "by the job's profile."
        ),
    ] = "max"


class QueueParameters(Parameters, frozen=True):
    strict: Annotated[
        bool,
        Meta(description="Whether a job that does not fit holds back the jobs behind it."),
    ] = False
    preempt: Annotated[
        bool, Meta(description="Whether a job may stop running jobs that rank after it.")
    ] = False
    migration: Annotated[
        bool,
        Meta(
            description="Whether running jobs are moved together when the first job that does not "
            "fit would fit a node, were the free GPUs in one place."
        ),
    ] = False


class FifoParameters(QueueParameters, frozen=True):
    strict: Annotated[
        bool,
        Meta(description="Whether a job that does not fit holds back the jobs behind it."),
    ] = True


class PreemptiveParameters(QueueParameters, frozen=True):
    preempt: Annotated[
        bool, Meta(description="Whether a job may stop running jobs that rank after it.")
    ] = True


class PriorityParameters(QueueParameters, frozen=True):
    ageing_s: Annotated[
        float,
        Meta(ge=0, description="Seconds of waiting worth one step of priority; 0 is no ageing."),
    ] = 3600.0


class LasParameters(PreemptiveParameters, frozen=True):
    queue_gpu_s: Annotated[
        tuple[Annotated[float, Meta(gt=0)], ...],
        Meta(
            min_length=1,
            max_length=16,
            description="Attained GPU-seconds at which a job sinks into the next queue, rising.",
        ),
    ] = (3_200.0, 32_000.0, 320_000.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(map(math.isfinite, self.queue_gpu_s)):
            raise ValueError("Expected finite numbers - at `$.queue_gpu_s`")
        if list(self.queue_gpu_s) != sorted(set(self.queue_gpu_s)):
            raise ValueError("Expected rising thresholds - at `$.queue_gpu_s`")


class SliceParameters(Parameters, frozen=True):
    slice_s: Annotated[
        float,
        Meta(ge=1, le=7 * 86400, description="Seconds a job keeps its GPUs while others wait."),
    ] = 1800.0
    migration: Annotated[
        bool,
        Meta(description="Whether running jobs are moved together to make room on one node."),
    ] = True


class ElasticParameters(Finite, frozen=True):
    """What policies that choose GPU counts understand."""

    placement: Annotated[
        PlacementName,
        Meta(
            description="buddy: aligned power-of-two blocks, whole nodes near each other beyond "
            "one. The others as in the classic policies."
        ),
    ] = "buddy"
    min_run_s: Annotated[
        float,
        Meta(
            ge=0,
            le=7 * 86400,
            description="Seconds a started or resized job is safe from being changed again.",
        ),
    ] = 60.0
    preempt: Annotated[
        bool, Meta(description="Whether a job may stop running jobs that take longer than it.")
    ] = True


class PowerFlowParameters(ElasticParameters, frozen=True):
    clock: Annotated[
        ClockName,
        Meta(
            description="chosen: by the marginal greedy. max: always the highest. efficient: the "
            "one of least joules per work."
        ),
    ] = "chosen"
    power_off: Annotated[
        bool, Meta(description="Whether nodes that nothing needs are switched off.")
    ] = True


class AfsParameters(ElasticParameters, frozen=True):
    clock: Annotated[
        Literal["max", "efficient"],
        Meta(
            description="Clock of jobs: the highest, or the one of least joules per work by the "
            "job's profile."
        ),
    ] = "max"


class SynergyParameters(Finite, frozen=True):
    ordering: Annotated[
        SynergyOrdering,
        Meta(
            description="Who gets GPUs first. fifo: first come. srtf: shortest remaining time. "
            "las: least attained service, in queues. ftf: who suffers most from sharing."
        ),
    ] = "fifo"
    packing: Annotated[
        PackingName,
        Meta(
            description="How CPUs and memory are given. proportional: by GPUs. greedy: what each "
            "job wants, or it waits. tune: what it wants, else its proportional share, taking back "
            "what others have beyond theirs. opt: tune, towards the shares of the best total speed "
            "were the cluster one server; no program assigns jobs to servers."
        ),
    ] = "tune"
    preempt: Annotated[
        bool,
        Meta(description="Whether running jobs are stopped that the order has no room for."),
    ] = True
    min_run_s: Annotated[
        float,
        Meta(ge=0, le=7 * 86400, description="Seconds a started job is safe from preemption."),
    ] = 300.0
    max_preemptions: Annotated[
        int, Meta(ge=0, le=100_000, description="Most jobs that one round may stop.")
    ] = 256
    migration: Annotated[
        bool,
        Meta(
            description="Whether two running jobs change places when one runs faster by it and the "
            "other no slower."
        ),
    ] = False


class BackfillParameters(Parameters, frozen=True):
    default_run_s: Annotated[
        float,
        Meta(gt=0, le=365 * 86400, description="Run time assumed of a job without an estimate."),
    ] = 86400.0


class ConservativeParameters(BackfillParameters, frozen=True):
    reservations: Annotated[
        int,
        Meta(ge=1, le=1000, description="How many waiting jobs of a partition get a reservation."),
    ] = 100


P = TypeVar("P", bound=msgspec.Struct)


def convert(parameters: Mapping[str, Any], model: type[P]) -> P:
    try:
        return msgspec.convert(dict(parameters), model)
    except msgspec.ValidationError as error:
        raise _explained(str(error)) from error


_WHERE = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
_UNKNOWN = re.compile(r"unknown field `(?P<name>.*)`", re.DOTALL)
_STEP = re.compile(r"\[(\d+)\]|\.([^.\[]+)")


def _explained(text: str) -> ParameterError:
    where = _WHERE.match(text)
    what, path = (where["what"], where["path"] or "") if where else (text, "")
    steps = [number or name for number, name in _STEP.findall(path)]
    unknown = _UNKNOWN.search(what)
    if unknown:
        steps.append(unknown["name"])
        return ParameterError("unknown_parameter", pointer(steps), what)
    code = "wrong_type" if ", got `" in what or "at `key`" in what else "out_of_range"
    return ParameterError(code, pointer(steps), what)


def pointer(steps: list[str]) -> str:
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)
