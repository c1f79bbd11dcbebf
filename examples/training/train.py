"""A training run that reads a volume, can be stopped at any step, and leaves a model behind."""

import argparse
import csv
import json
import sys
import time
from pathlib import Path

import fairwatt_progress as progress
from model import SGD, Batch, Linear, accuracy, batches


def read(path: Path) -> Batch:
    with path.open() as file:
        return [([float(x) for x in row[:-1]], float(row[-1])) for row in csv.reader(file)]


def train_epoch(model: Linear, optimizer: SGD, rows: Batch, size: int) -> None:
    for batch in batches(rows, size):
        optimizer.zero_grad()
        for features, label in batch:
            model.backward(features, model.forward(features) - label)
        optimizer.step(len(batch))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a CSV; the last column is 0 or 1")
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=0.5)
    parser.add_argument("--pause-s", type=float, default=0.0, help="as if the model were larger")
    given = parser.parse_args()

    rows = read(given.data)
    model = Linear(len(rows[0][0]))
    state = progress.restore({"step": 0, **model.state()})
    model.load(state)
    optimizer, epoch = SGD(model, given.rate), state["step"]
    sys.stdout.write(f"starting at epoch {epoch} with {len(rows)} rows\n")
    while epoch < given.epochs:
        train_epoch(model, optimizer, rows, given.batch)
        epoch += 1
        time.sleep(given.pause_s)
        progress.report(step=epoch)
        progress.save({"step": epoch, **model.state()})
        if progress.stop_asked():
            sys.stdout.write(f"asked to stop, saved at epoch {epoch}\n")
            return 143
    reached = accuracy(model, rows)
    given.out.mkdir(parents=True, exist_ok=True)
    result = {"epochs": epoch, "accuracy": reached, **model.state()}
    (given.out / "model.json").write_text(json.dumps(result))
    sys.stdout.write(f"done: accuracy {reached:.3f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
