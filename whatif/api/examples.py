"""What the schema shows for each operation."""

from typing import Any

from rest.views import Example

_LINES = (
    '{"submitted_s": 0, "duration_s": 3600, "gpus": 4, "tenant": "vision"}\n'
    '{"submitted_s": 60, "duration_s": 600, "gpus": 1, "tenant": "speech"}\n'
)
_REQUEST: dict[str, Any] = {
    "name": "fifo or las?",
    "trace": {"lines": _LINES},
    "machines": {
        "nodes": [{"count": 2, "gpus": 8, "gpu_type": "A100", "cpus": 64, "mem_mib": 524_288}],
        "gpus": [{"name": "A100", "idle_w": 60, "max_w": 400}],
    },
    "policies": [{"name": "fifo"}, {"name": "las", "parameters": {"min_run_s": 120}}],
    "seeds": [0, 1],
}
_SIMULATION: dict[str, Any] = {
    "id": 7,
    "name": "fifo or las?",
    "tenant": "vision-lab",
    "cluster": None,
    "kind": "trace",
    "state": "running",
    "error": "",
    "progress": {
        "simulated_s": 1800.0,
        "jobs_done": 1,
        "jobs_total": 4,
        "runs_done": 2,
        "runs_total": 4,
    },
    "created_at": "2026-02-01T09:30:00Z",
    "started_at": "2026-02-01T09:30:01Z",
    "ended_at": None,
}
_RUN = {
    "label": "fifo",
    "policy": "fifo",
    "parameters": {},
    "seed": 0,
    "state": "succeeded",
    "error": "",
    "simulated_s": 3600.0,
    "jobs_done": 2,
    "jobs_total": 2,
}
_FIGURES = {"jobs": 2, "finished": 2, "jct_mean_s": 2100.0, "energy_kwh": 1.7, "energy_cost": 0.4}
_RESULTS = {
    "rows": [
        {
            "policy": "fifo",
            "label": "fifo",
            "seed": 0,
            "figures": _FIGURES,
            "tenants": {"vision": _FIGURES},
            "partitions": {},
        }
    ],
    "intervals": {"fifo": {"jct_mean_s": {"mean": 2100.0, "low": 2000.0, "high": 2200.0}}},
}
PAGE = '<!doctype html>\n<html lang="en"><head><title>fifo or las?</title></head>…</html>\n'
SIMULATIONS = {
    "list": Example(response=_SIMULATION),
    "retrieve": Example(response={**_SIMULATION, "runs": [_RUN]}),
    "create": Example(request=_REQUEST, response={**_SIMULATION, "state": "queued"}),
    "cancel": Example(response={**_SIMULATION, "state": "cancelled"}),
    "results": Example(response=_RESULTS),
}

_FORECAST = {
    "id": 31,
    "cluster": "demo",
    "currency": "EUR",
    "state": "succeeded",
    "policy": "fifo-backfill",
    "made_at": "2026-02-01T09:30:10Z",
    "snapshot_digest": "9f2c",
    "error": "",
    "score": {
        "jobs": 12,
        "scored": 9,
        "mean_error_s": 41.0,
        "mean_absolute_error_s": 95.5,
        "within": 0.78,
    },
    "created_at": "2026-02-01T09:30:09Z",
    "ended_at": "2026-02-01T09:30:12Z",
}
_ASKED = {"state": "queued", "made_at": None, "snapshot_digest": "", "score": None}
FORECAST = {"post": Example(response={**_FORECAST, **_ASKED, "ended_at": None})}
FORECASTS = {"list": Example(response=_FORECAST), "retrieve": Example(response=_FORECAST)}
FORECAST_JOBS = {
    "list": Example(
        response={
            "job_id": 4711,
            "start_at": "2026-02-01T11:05:00Z",
            "start_low_at": "2026-02-01T10:40:00Z",
            "start_high_at": "2026-02-01T12:20:00Z",
            "finish_at": "2026-02-01T15:05:00Z",
            "finish_low_at": "2026-02-01T13:50:00Z",
            "finish_high_at": "2026-02-01T18:00:00Z",
            "energy_j": 25_900_000.0,
            "cost": "2.086000",
            "started_at": None,
            "error_s": None,
            "within": None,
        }
    )
}
