"""Specs that no example shows, sent to the real service: what it takes, and what it refuses."""

from typing import Any

import fairwatt
import pytest

from tests.client.live.conftest import Service

pytestmark = pytest.mark.process


def test_a_trace_on_machines_that_need_not_exist(service: Service) -> None:
    line = '{"submitted_s": 0, "duration_s": 3600, "gpus": 8}\n'
    model = fairwatt.GpuModel(name="X", idle_w=50, max_w=300)
    spec = fairwatt.SimulationSpec(
        policies=[fairwatt.PolicyChoice(name="fifo")],
        trace=fairwatt.Trace(line * 2),
        machines=fairwatt.Machines(
            nodes=[fairwatt.Nodes(count=1, gpus=8, gpu_type="X")], gpus=[model]
        ),
    )
    with service.client() as client:
        made = client.simulate(spec)
        *_, last = client.simulation_progress(made.id)
        assert last.state == "succeeded"
        (row,) = client.simulation_results(made.id).rows
    assert row.figures["wait_mean_s"] == pytest.approx(1800, abs=60)
    assert 0 < row.figures["energy_kwh"] <= 8 * 0.3 * 2.1


def test_mounts_and_secrets_that_are_not_there_are_refused_by_name(service: Service) -> None:
    with service.client() as client:
        for pointer, spec in (
            ("/mounts", _spec(mounts=[fairwatt.Mount(volume="none", target="/data")])),
            ("/secrets", _spec(secrets=[fairwatt.SecretUse(name="none", variable="TOKEN")])),
        ):
            with pytest.raises(fairwatt.Refused) as refused:
                client.submit(spec)
            assert refused.value.faults[0].pointer.startswith(pointer)


def _spec(**fields: Any) -> fairwatt.JobSpec:
    return fairwatt.JobSpec(argv=["true"], held=True, **fields)
