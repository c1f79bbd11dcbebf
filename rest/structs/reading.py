"""Input read into structs: fast when it is right, and every fault named when it is not."""

from functools import cache
from typing import TypeVar

import msgspec
import structlog
from msgspec import Struct

from rest.problems import Fault, Invalid
from rest.structs.nodes import Change
from rest.structs.rules import Unfit
from rest.structs.showing import node_of

S = TypeVar("S", bound=Struct)
log = structlog.get_logger(__name__)


def read(struct: type[S], data: object, *path: str | int) -> S:
    """`data` as a `struct`; `path` is where in the body it stands."""
    for prepare in _preparers(struct):
        try:
            return msgspec.convert(prepare(data) if prepare else data, struct)
        except (msgspec.ValidationError, Unfit):
            continue
    faults = list(node_of(struct).faults(data, path))
    if not faults:
        log.error("fault_without_a_name", struct=struct.__name__)
        faults = [Fault("", "invalid", "Does not fit the schema.")]
    raise Invalid("The request does not fit the schema; `errors` says where.", errors=faults)


@cache
def _preparers(struct: type[Struct]) -> tuple[Change | None, Change | None]:
    """Of the first try and of the second, which takes 2.0 for an integer."""
    node = node_of(struct)
    return node.preparer(integers=False), node.preparer(integers=True)
