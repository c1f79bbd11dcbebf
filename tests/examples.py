"""How many examples a property is tried on: all in `make test`, a twentieth in `make test-fast`."""

from hypothesis import settings

FEWEST = 5

settings.register_profile("default", deadline=None)
settings.register_profile("fast", deadline=None, max_examples=FEWEST)


def examples(count: int) -> int:
    """For properties that say themselves how many they want, which no profile changes."""
    fast = settings.get_current_profile_name() == "fast"
    return max(FEWEST, count // 20) if fast else count
