"""`python -m tests.fuzz --requests N`: fuzz the API; exits with 1 if anything was found."""

import argparse
import random
import sys
import time

from tests.fuzz.campaign import campaign
from tests.fuzz.report import Report
from tests.fuzz.stage import stage


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=5000, help="how many to send, at least")
    parser.add_argument("--seed", type=int, help="repeats a campaign; printed by each")
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    sys.stdout.write(f"seed {seed}, {options.requests} requests\n")
    sys.stdout.flush()
    report = Report(started_s=time.monotonic(), wanted=options.requests)
    with stage() as scene:
        campaign(scene, options.requests, seed, report)
    sys.stdout.write(report.summary(now_s=time.monotonic()) + "\n")
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
