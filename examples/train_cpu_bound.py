"""A training whose input pipeline is the bottleneck: it decodes and shuffles on the CPU."""

import argparse
import hashlib
import random
import sys
import time
import zlib

import fairwatt_progress as progress


def prepare(batch: int, step: int) -> int:
    """Stand-in for decoding and augmenting: compress, hash and shuffle some bytes."""
    draw = random.Random(step)  # noqa: S311 - data augmentation, not cryptography
    checksum = 0
    for _ in range(batch):
        sample = draw.randbytes(4096)
        checksum ^= zlib.crc32(zlib.compress(sample)) ^ hashlib.sha256(sample).digest()[0]
    return checksum


def wait_for_batch(given: argparse.Namespace) -> None:
    """As if so many seconds of preparing were spread over the CPUs, while the GPU computes."""
    time.sleep(max(given.compute_s, given.prepare_s / progress.cpus()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--checkpoint-every", type=int, default=10)
    parser.add_argument(
        "--prepare-s", type=float, help="do not prepare, wait as for one CPU's work"
    )
    parser.add_argument("--compute-s", type=float, default=0.0)
    given = parser.parse_args()

    state = progress.restore({"step": 0, "checksum": 0})
    sys.stdout.write(f"starting at step {state['step']}\n")
    while state["step"] < given.steps:
        if given.prepare_s is None:
            state["checksum"] ^= prepare(given.batch, state["step"])
        else:
            wait_for_batch(given)
        state["step"] += 1
        progress.report(step=state["step"])
        if progress.stop_asked():
            progress.save(state)
            sys.stdout.write(f"asked to stop, saved at step {state['step']}\n")
            return 143
        if state["step"] % given.checkpoint_every == 0:
            progress.save(state)
    sys.stdout.write(f"done: checksum {state['checksum']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
