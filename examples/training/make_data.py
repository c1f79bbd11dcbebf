"""Writes the points that the training reads: two clouds, one of each kind."""

import random
import sys
from pathlib import Path


def main() -> int:
    path = Path(sys.argv[1])
    draw = random.Random(1)  # noqa: S311 - training data, not cryptography
    lines = []
    for number in range(400):
        kind = number % 2
        features = [draw.gauss(1.5 if kind else -1.5, 1.0) for _ in range(4)]
        lines.append(",".join([*(f"{value:.4f}" for value in features), str(kind)]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
