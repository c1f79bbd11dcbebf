"""`python -m benchmarks [NAME]`: run all benchmarks, or one; only figures go to standard output."""

import subprocess
import sys

# In the order of `make bench`; each is a module that runs by itself.
NAMES = (
    "agents", "andreas", "api", "fairwatt", "plan", "powerflow", "profiles", "round", "simulator",
    "synergy", "agreement", "andreas-live", "powerflow-live", "synergy-live",
)  # fmt: skip


def main(arguments: list[str]) -> int:
    unknown = [name for name in arguments if name not in NAMES]
    if unknown:
        sys.stderr.write(f"no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}\n")
        return 2
    worst = 0
    for name in arguments or NAMES:
        sys.stderr.write(f"# {name}\n")
        # A process each: peak memory and caches of one do not colour the next.
        code = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name.replace('-', '_')}"], check=False
        ).returncode
        worst = max(worst, code)
    return worst


if __name__ == "__main__":
    sys.exit(main([name for name in sys.argv[1:] if name]))
