"""The kernel of this policy as machine code."""

from types import ModuleType

from policies.bench.compiled import compiled
from policies.fairwatt import kernel

_FUNCTIONS = ("look", "take", "beyond", "construct", "relaxed")


def compiled_kernel() -> ModuleType:
    return compiled(kernel, _FUNCTIONS)
