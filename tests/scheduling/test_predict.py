"""What an attempt will draw is written down when it is placed."""

from typing import Any

import pytest

from jobs.models import Attempt
from scheduler_service.factories import (
    NOW,
    make_cluster,
    make_gpu_type,
    make_jobs,
    make_nodes,
    make_profile,
    make_tenant,
)
from scheduling.round import run_round

pytestmark = pytest.mark.django_db

POINTS = [
    {"gpu_type": "A100", "gpus": 2, "steps_per_s": 5.0, "watts_per_gpu": 250.0},
    {"gpu_type": "A100", "gpus": 1, "steps_per_s": 3.0, "watts_per_gpu": 260.0},
    {"gpu_type": "V100", "gpus": 2, "steps_per_s": 1.0, "watts_per_gpu": 100.0},
]


def _predicted(points: list[dict[str, Any]] | None = None, **fields: Any) -> tuple[Any, Any]:
    cluster, tenant = make_cluster(), make_tenant()
    make_nodes(cluster, make_gpu_type("A100"), 1)
    if points is not None:
        fields["profile"] = make_profile(tenant, "p", points)
    make_jobs(cluster, tenant, 1, min_gpus=2, max_gpus=2, **fields)
    run_round(cluster.pk, now=NOW)
    attempt = Attempt.objects.get()
    return attempt.predicted_gpu_mj, attempt.predicted_by


@pytest.mark.parametrize(
    ("fields", "predicted"),
    [
        # The profile knows watts and speed: 1000 steps at 5 a second are 200 s.
        ({"points": POINTS, "work_total": 1000}, (2 * 250 * 200_000, "profile")),
        ({"points": POINTS, "work_total": 1000, "work_done": 500}, (2 * 250 * 100_000, "profile")),
        # Its watts, but nobody knows how much work there is.
        ({"points": POINTS, "estimated_run_s": 60}, (2 * 250 * 60_000, "profile")),
        # No point for this type and number of GPUs.
        ({"points": POINTS[1:], "estimated_run_s": 60}, (2 * 400 * 60_000, "nameplate")),
        ({"estimated_run_s": 60}, (2 * 400 * 60_000, "nameplate")),
        (
            {"estimated_run_s": 60, "work_total": 100, "work_done": 75},
            (2 * 400 * 15_000, "nameplate"),
        ),
        ({"estimated_run_s": 60, "work_total": 100, "work_done": 150}, (0, "nameplate")),
        ({}, (None, None)),
    ],
)
def test_prediction(fields: dict[str, Any], predicted: tuple[Any, Any]) -> None:
    assert _predicted(**fields) == predicted
