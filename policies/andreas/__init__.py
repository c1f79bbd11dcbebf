"""ANDREAS: energy price plus tardiness, minimised by many randomised greedy constructions."""
