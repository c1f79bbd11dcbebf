"""How many examples a property is tried on: a third in `make test`, all where that is asked for.

`--hypothesis-profile thorough` tries all, `make test-fast` a twentieth.
The same ones on every machine and in any order. Worlds follow from fixed seeds; Hypothesis is kept
for values that it can shrink. It mixes in numbers found in whatever modules are loaded, so what it
draws may still differ: it is for laws without exceptions.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from hypothesis import settings

FEWEST = 5
PART, PARTS = 3, {"thorough": 1, "fast": 20}

settings.register_profile("default", deadline=None, derandomize=True, database=None)
settings.register_profile("thorough", settings.get_profile("default"))
settings.register_profile("fast", settings.get_profile("default"), max_examples=FEWEST)

Test = Callable[..., None]


def examples(count: int) -> int:
    """For properties that say themselves how many they want, which no profile changes."""
    return max(FEWEST, count // PARTS.get(settings.get_current_profile_name(), PART))


def each_seed(count: int) -> Callable[[Test], Test]:
    """One test over the seeds below `count`; a failure names the first seed that failed."""

    def decorate(test: Test) -> Test:
        @wraps(test)
        def every(**arguments: Any) -> None:
            for seed in range(examples(count)):
                try:
                    test(seed=seed, **arguments)
                except Exception as failed:
                    failed.add_note(f"seed={seed}")
                    raise

        asked = inspect.signature(test)
        others = [one for one in asked.parameters.values() if one.name != "seed"]
        every.__signature__ = asked.replace(parameters=others)  # type: ignore[attr-defined]
        return every

    return decorate
