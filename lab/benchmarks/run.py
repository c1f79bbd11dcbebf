"""`python -m lab.benchmarks.run NAME [OPTIONS]`: one benchmark in this process."""

import importlib
import sys

from lab.benchmarks.catalogue import BENCHMARKS, unknown
from lab.benchmarks.harness.database import database
from lab.benchmarks.harness.jobs import BenchmarkJobFailed


def main(name: str, *options: str) -> None:
    if name not in BENCHMARKS:
        sys.exit(unknown(name))
    benchmark = BENCHMARKS[name]
    if not benchmark.database:
        importlib.import_module(benchmark.module).main(*options)
        return
    with database() as url:
        # Only now: models can be imported once Django is set up.
        importlib.import_module(benchmark.module).main(url, *options)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except BenchmarkJobFailed as failure:
        sys.exit(f"{sys.argv[1]}: {failure}")
