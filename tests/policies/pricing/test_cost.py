"""Full and marginal by hand, and what lies between them."""

import numpy as np
import pytest

from policies.bench.power import busy_gpu_w, host_watts_per_gpu
from policies.pricing.cost import anyway_w, host_mj, run_watts
from tests.policies.worlds import Node, World

# Per GPU: 50 W idle; of its host 25 W idle and 100 W at its peak, and nothing on the second node.
NODES = [Node(gpus=4, host_idle_w=100.0, host_peak_w=400.0), Node(gpus=2)]


def test_full_is_marginal_and_what_is_drawn_anyway() -> None:
    snapshot = World(NODES, []).snapshot()
    nodes, types = snapshot.nodes, snapshot.gpu_types
    node, gpus = np.array([0, 1]), np.array([3, 1])
    watts = run_watts(nodes, types, node, gpus, np.array([300.0, 200.0]))
    assert watts.full.tolist() == [3 * 400.0, 200.0]
    assert watts.marginal.tolist() == [3 * 325.0, 150.0]
    assert (watts.full - watts.marginal).tolist() == (gpus * anyway_w(nodes, types)).tolist()


def test_power_budgets_count_what_is_marginal() -> None:
    snapshot = World(NODES, []).snapshot()
    host_w = host_watts_per_gpu(snapshot)[0]
    alone = run_watts(snapshot.nodes, snapshot.gpu_types, np.array([0]), np.array([1]), np.ones(1))
    assert busy_gpu_w(1.0, 50.0, float(host_w)) == alone.marginal[0]


@pytest.mark.parametrize(("held_us", "mj"), [(0, 0), (1_000_000, 100_000), (12, 1), (9, 0)])
def test_a_share_of_the_host_is_whole_millijoules(held_us: int, mj: int) -> None:
    assert host_mj(400, 4, held_us) == mj
