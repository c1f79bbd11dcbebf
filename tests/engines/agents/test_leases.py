"""The more nodes there are, the less often each is asked to speak."""

import pytest

from engines.agents.leases import SAMPLINGS_PER_S, SYNCS_PER_S, UPLOADS_PER_S, leases


def test_a_small_service_is_told_everything_at_once() -> None:
    few = leases(4)
    assert (few.next_sync_s, few.sample_interval_s, few.upload_interval_s) == (1.0, 1.0, 5.0)
    assert (few.node_lease_s, few.run_lease_s) == (15.0, 900.0)


@pytest.mark.parametrize("nodes", [1000, 1500, 20_000])
def test_what_all_nodes_ask_together_has_a_limit(nodes: int) -> None:
    many = leases(nodes)
    assert nodes / many.next_sync_s == pytest.approx(SYNCS_PER_S)
    assert nodes / many.upload_interval_s == pytest.approx(UPLOADS_PER_S)
    assert nodes / many.sample_interval_s == pytest.approx(SAMPLINGS_PER_S)


@pytest.mark.parametrize("nodes", [1, 100, 1000, 20_000])
def test_several_syncs_fit_into_every_lease(nodes: int) -> None:
    granted = leases(nodes)
    assert granted.node_lease_s >= 5 * granted.next_sync_s
    assert granted.run_lease_s >= 4 * granted.node_lease_s
