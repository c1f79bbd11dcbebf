"""The kernel of this policy as machine code."""

from types import ModuleType

from policies.andreas import kernel
from policies.bench.compiled import compiled

# Callees before callers, so that each finds the others compiled.
_FUNCTIONS = (
    "draw", "shuffle", "price_area", "reset", "allowed", "budget_w", "charge", "rebucket", "take",
    "fitting", "pick", "cost", "proxy", "admit", "settle_all", "construct", "construct_many",
    "judge", "resume", "fits", "longest_gain", "grow",
)  # fmt: skip


def compiled_kernel() -> ModuleType:
    return compiled(kernel, _FUNCTIONS)
