"""What the ratios of a throughput model usually are, where points do not tell."""

import math
from dataclasses import dataclass

from policies.performance.solving import Term

# No ratio is further from its usual value than this many e-folds.
FAR = 8.0


@dataclass(frozen=True, slots=True)
class Usual:
    """What a parameter usually is: a factor, and by how many e-folds it varies."""

    factor: float
    deviation: float

    def term(self, name: str) -> Term:
        log = math.log(self.factor)
        starts = (log, log, log - 1.0)
        low, high = log - FAR, log + FAR
        return Term(
            name=name, starts=starts, low=low, high=high, usual=log, deviation=self.deviation
        )


# Ratios that need no unit, and so are alike for very different applications. They only count where
# the points are silent; a few points overrule them.
USUAL = {
    "fixed": Usual(0.2, 1.5),  # compute that does not depend on the batch, over what does
    "inside": Usual(0.2, 1.5),  # synchronising two GPUs, over computing
    "inside_each": Usual(0.1, 1.2),  # each further GPU in the node, over the first two
    "across": Usual(1.5, 0.7),  # two GPUs on two nodes, over two on one
    "across_each": Usual(0.01, 1.5),  # each further GPU, over the first two, across nodes
    "overlap": Usual(0.5, 1.0),  # gamma less one
}
