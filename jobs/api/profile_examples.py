"""What the schema shows for each operation on profiles."""

from typing import Any

from rest.views import Example

_POINT = {
    "gpu_type": "A100",
    "gpus": 4,
    "steps_per_s": 11.5,
    "clock_mhz": None,
    "watts_per_gpu": 320.0,
    "cpus_per_gpu": None,
    "memory_mib_per_gpu": None,
}
_THROUGHPUT = {
    "parameters": {"alpha0": 0.02, "alpha2": 0.08, "reference_mhz": 1410.0},
    "ranges": {"gpus": [1, 4], "clock_mhz": [705, 1410]},
    "spread": 0.02,
    "points": 5,
    "mean_error": 0.004,
    "worst_error": 0.009,
    "residuals": [0.004],
    "wide": False,
    "notes": [],
}
_FIT: dict[str, Any] = {
    "number": 1,
    "cause": "asked",
    "points": 5,
    "mean_error": 0.004,
    "worst_error": 0.009,
    "models": {"types": {"A100": {"throughput": _THROUGHPUT, "power": None}}, "sensitivity": None},
    "made_at": "2026-02-01T09:31:00Z",
}
_PROFILE: dict[str, Any] = {
    "id": 3,
    "name": "resnet-50/imagenet",
    "tenant": "vision-lab",
    "basis": "measured",
    "inline": False,
    "dataset_mib": None,
    "step_mib": None,
    "storage_mib_per_s": None,
    "points": [_POINT],
    "fit": None,
    "fit_refused": "",
    "drift": "",
    "drift_at": None,
    "version": 1,
    "created_at": "2026-02-01T09:30:00Z",
    "updated_at": "2026-02-01T09:30:00Z",
}
_PREDICTION = {
    "profile_id": 3,
    "fit": 1,
    "gpu_type": "A100",
    "gpus": 2,
    "clock_mhz": 1065,
    "cpus_per_gpu": 4.0,
    "memory_mib_per_gpu": None,
    "source": "fitted",
    "steps_per_s": 6.3,
    "low": 6.2,
    "high": 6.4,
    "watts_per_gpu": 214.0,
    "low_w": 210.0,
    "high_w": 218.0,
    "extrapolated": False,
    "leaves": [],
}
PROFILES = {
    "list": Example(response=_PROFILE),
    "retrieve": Example(response={**_PROFILE, "basis": "fitted", "fit": _FIT}),
    "create": Example(
        request={"name": "resnet-50/imagenet", "points": [_POINT]}, response=_PROFILE
    ),
    "partial_update": Example(
        request={"points": []},
        response={**_PROFILE, "basis": "neutral", "points": [], "version": 2},
    ),
    "fit": Example(response=_FIT),
    "predict": Example(response=_PREDICTION),
}
_MEASURED = {
    "id": 41,
    **_POINT,
    "source": "learned",
    "weight": 1.5,
    "accepted": True,
    "attempt_id": 801,
    "measured_at": "2026-02-01T10:30:00Z",
}
POINTS = {
    "list": Example(response=_MEASURED),
    "create": Example(request={"points": [_POINT]}, response={**_PROFILE, "version": 2}),
}
FITS = {"list": Example(response=_FIT)}
_RUN = {
    "id": 7,
    "profile_id": 3,
    "job_id": 4712,
    "cluster": "demo",
    "state": "admitted",
    "detail": "",
    "measured": [{"clock_mhz": 1410, "cpus": 32, "steps_per_s": 10.1, "watts": 396.0}],
    "created_at": "2026-02-01T09:30:00Z",
    "admitted_at": "2026-02-01T09:30:01Z",
    "began_at": "2026-02-01T09:30:03Z",
    "ended_at": None,
}
RUNS = {
    "list": Example(response=_RUN),
    "create": Example(
        request={"cluster": "demo", "argv": ["python3", "train.py"]},
        response={
            **_RUN,
            "state": "waiting",
            "measured": [],
            "admitted_at": None,
            "began_at": None,
        },
    ),
}
