"""What the schema shows for logs, energy and money."""

from rest.views import Example

_SUMS = {
    "gpu_mj": 1_440_000_000,
    "host_mj": 360_000_000,
    "cost": "0.174000000000",
    "currency": "EUR",
    "carbon_g": "228.000000000000",
    "unpriced_mj": 0,
}
_WINDOW = {
    **_SUMS,
    "starts_at": "2026-01-31T08:00:00Z",
    "ends_at": "2026-01-31T09:00:00Z",
    "method": "counter",
    "pue": "1.20",
    "price_per_kwh": "0.290000000000",
    "g_per_kwh": "380.000",
    "coverage": 1.0,
}
_METER = {
    "node": "node-1",
    "uuid": "GPU-5e0c63b1-1f8a-5b8e-9b0e-0b6f5e6b1c55",
    "start_mj": 81_220_114,
    "now_mj": 1_521_220_114,
    "integrated": False,
    "final": True,
    "since_at": "2026-01-31T08:00:00Z",
    "until_at": "2026-01-31T09:00:00Z",
}
JOB_ENERGY = {
    "get": Example(
        response={
            "job_id": 4711,
            "totals": [_SUMS],
            "open_mj": 0,
            "attempts": [
                {
                    "number": 1,
                    "state": "ended",
                    "predicted_mj": 1_512_000_000,
                    "predicted_by": "profile",
                    "gpu_mj": 1_440_000_000,
                    "prediction_error": 0.05,
                    "meters": [_METER],
                    "windows": [_WINDOW],
                }
            ],
        }
    )
}

STATEMENT = {
    "get": Example(
        response={
            "tenant": "acme",
            "from_at": "2026-01-01T00:00:00Z",
            "until_at": "2026-02-01T00:00:00Z",
            "totals": [_SUMS],
            "lines": [{**_SUMS, "job_id": 4711, "name": "train-resnet", "cluster": "demo"}],
            "next": None,
        }
    )
}
STATEMENT_CSV = (
    "job_id,name,cluster,gpu_mj,host_mj,unpriced_mj,cost,currency,carbon_g\r\n"
    "4711,train-resnet,demo,1440000000,360000000,0,0.174000000000,EUR,228.000000000000\r\n"
)

NODE_ENERGY = {
    "get": Example(
        response={
            "node": "node-1",
            "samples_refused": 0,
            "samples_shed": 0,
            "gpus": [
                {
                    "uuid": _METER["uuid"],
                    "index": 0,
                    "reading_mj": 1_539_400_911,
                    "counter_mj": 1_539_400_911,
                    "billed_mj": 1_440_000_000,
                    "open_mj": 0,
                    "idle_mj": 99_400_911,
                    "gap_mj": 0,
                }
            ],
        }
    )
}

REPRICE = {
    "post": Example(
        request={"from_at": "2026-01-31T00:00:00Z", "until_at": "2026-02-01T00:00:00Z"},
        response={"rows": 48},
    )
}
