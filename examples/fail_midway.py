"""A training that finds a broken sample halfway and says so."""

import argparse
import sys
import time

import fairwatt_progress as progress


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--step-s", type=float, default=0.1)
    given = parser.parse_args()

    for step in range(1, given.steps // 2 + 1):
        time.sleep(given.step_s)
        progress.report(step=step)
        sys.stdout.write(f"step {step}\n")
    sys.stderr.write(f"sample {given.steps // 2 * 64} is truncated: 512 of 4096 bytes\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
