"""Files that are made of several public ones."""

from collections.abc import Callable, Mapping

from lab.data.synergy import transcribe

Recipe = Callable[[Mapping[str, bytes]], bytes]

RECIPES: dict[str, Recipe] = {
    "synergy": transcribe,
}
"""By the name in the manifest; a recipe takes the parts by their path, in the manifest's order."""
