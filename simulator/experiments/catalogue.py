"""The experiments there are: one row each, from a name to what runs it."""

import argparse
from collections.abc import Callable
from pathlib import Path

EXPERIMENTS: dict[str, Callable[[Path, argparse.Namespace], int]] = {}
