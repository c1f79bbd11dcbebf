"""`python -m lab.benchmarks [NAME…]`: run all, or some; only figures go to standard output."""

import subprocess
import sys

from lab.benchmarks.catalogue import BENCHMARKS, unknown


def main(arguments: list[str]) -> int:
    for name in arguments:
        if name not in BENCHMARKS:
            sys.stderr.write(f"{unknown(name)}\n")
            return 2
    worst = 0
    for name in arguments or BENCHMARKS:
        sys.stderr.write(f"# {name}\n")
        # A process each: peak memory and caches of one do not colour the next.
        command = [sys.executable, "-m", "lab.benchmarks.run", name]
        worst = max(worst, subprocess.run(command, check=False).returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main([name for name in sys.argv[1:] if name]))
