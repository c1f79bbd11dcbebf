"""The callers and the cluster of tests/clusters."""

from tests.clusters.conftest import cluster, gpu_type, member, node, operator, other_tenant, tenant

__all__ = ["cluster", "gpu_type", "member", "node", "operator", "other_tenant", "tenant"]
