"""A classifier in plain Python with the parts that a PyTorch script has."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

Batch = list[tuple[list[float], float]]


class Linear:
    """One neuron: forward, backward, and a state that can be saved."""

    def __init__(self, width: int) -> None:
        self.weights = [0.0] * (width + 1)
        self.gradient = [0.0] * (width + 1)

    def forward(self, features: list[float]) -> float:
        *weights, bias = self.weights
        z = bias + sum(w * x for w, x in zip(weights, features, strict=True))
        return 1 / (1 + math.exp(-max(-60.0, min(60.0, z))))

    def backward(self, features: list[float], error: float) -> None:
        for index, value in enumerate([*features, 1.0]):
            self.gradient[index] += error * value

    def state(self) -> dict[str, Any]:
        return {"weights": self.weights}

    def load(self, state: dict[str, Any]) -> None:
        self.weights = list(state["weights"])


class SGD:
    def __init__(self, model: Linear, rate: float) -> None:
        self.model, self.rate = model, rate

    def zero_grad(self) -> None:
        self.model.gradient = [0.0] * len(self.model.weights)

    def step(self, size: int) -> None:
        model = self.model
        model.weights = [
            w - self.rate * g / size for w, g in zip(model.weights, model.gradient, strict=True)
        ]


def batches(rows: Batch, size: int) -> Iterator[Batch]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def accuracy(model: Linear, rows: Iterable[tuple[list[float], float]]) -> float:
    right = [(model.forward(features) > 0.5) == (label > 0.5) for features, label in rows]
    return sum(right) / len(right)
