"""A training whose GPU is the bottleneck: gradient descent on a small regression."""

import argparse
import random
import sys
import time

import fairwatt_progress as progress

WIDTH = 32


def loss_and_gradient(weights: list[float], step: int, batch: int) -> tuple[float, list[float]]:
    draw = random.Random(step)  # noqa: S311 - training data, not cryptography
    gradient, loss = [0.0] * WIDTH, 0.0
    for _ in range(batch):
        features = [draw.uniform(-1, 1) for _ in range(WIDTH)]
        error = sum(w * x for w, x in zip(weights, features, strict=True)) - sum(features)
        loss += error * error
        gradient = [g + 2 * error * x for g, x in zip(gradient, features, strict=True)]
    return loss / batch, [g / batch for g in gradient]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.3)
    parser.add_argument("--pause-s", type=float, default=0.0, help="as if waiting for the GPU")
    parser.add_argument("--checkpoint-every", type=int, default=20)
    given = parser.parse_args()

    state = progress.restore({"step": 0, "weights": [0.0] * WIDTH})
    sys.stdout.write(f"starting at step {state['step']}\n")
    loss = 0.0
    while state["step"] < given.steps:
        loss, gradient = loss_and_gradient(state["weights"], state["step"], given.batch)
        state["weights"] = [
            w - given.rate * g for w, g in zip(state["weights"], gradient, strict=True)
        ]
        state["step"] += 1
        time.sleep(given.pause_s)
        progress.report(step=state["step"])
        if progress.stop_asked():
            progress.save(state)
            sys.stdout.write(f"asked to stop, saved at step {state['step']}\n")
            return 143
        if state["step"] % given.checkpoint_every == 0:
            progress.save(state)
            sys.stdout.write(f"step {state['step']}: loss {loss:.6f}\n")
    sys.stdout.write(f"done: loss {loss:.6f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
