"""Clusters and the policies that place jobs on them."""

from typing import Any

from fairwatt.call import Call, Flow, Stream, get, patch
from fairwatt.errors import FairwattError
from fairwatt.operation import Asker, operation, procedure, stream
from fairwatt.pages import Page, all_pages, named
from fairwatt.structs.clusters import Cluster, Policy, Round
from fairwatt.structs.energy import ClusterPower


class ClusterCalls(Asker):
    @stream
    def clusters(self) -> Stream[Cluster]:
        """All clusters.

        >>> [cluster.name for cluster in client.clusters()]
        ['demo']
        """
        return all_pages(self.rules, "clusters/", Page[Cluster], {})

    @procedure
    def cluster_named(self, name: str | None = None) -> Flow[Cluster]:
        """A cluster by its name; without one, the client's, or the only one there is.

        >>> client.cluster_named("demo").currency
        'EUR'
        """
        return (yield from cluster_named(self, name))

    @operation
    def policies(self) -> Call[Page[Policy]]:
        """The policies that a cluster can have.

        >>> "fairwatt" in {policy.name for policy in client.policies().items}
        True
        """
        return get("policies/", Page[Policy])

    @operation
    def policy(self, name: str) -> Call[Policy]:
        """What a policy promises, and its parameters as a JSON schema.

        >>> client.policy("srtf").name
        'srtf'
        """
        return get(f"policies/{name}/", Policy)

    @procedure
    def set_policy(
        self, policy: str, parameters: dict[str, Any] | None = None, *, cluster: str | None = None
    ) -> Flow[Cluster]:
        """Have a cluster scheduled by another policy, from its next round on (operators).

        >>> before = operator.cluster_named()
        >>> operator.set_policy("srtf").policy
        'srtf'
        >>> operator.set_policy(before.policy, before.policy_parameters).policy == before.policy
        True
        """
        found = yield from cluster_named(self, cluster)
        body = {"policy": policy, "policy_parameters": parameters or {}}
        return (yield from self.ask(patch(f"clusters/{found.id}/", Cluster, body, version=None)))

    @stream
    def rounds(self, *, cluster: str | None = None) -> Stream[Round]:
        """The rounds of a cluster, newest first (operators).

        >>> next(operator.rounds()).status
        'done'
        """
        found = yield from cluster_named(self, cluster)
        query = {"cluster": found.name, "ordering": "-id"}
        yield from all_pages(self.rules, "rounds/", Page[Round], query)

    @procedure
    def power(self, *, cluster: str | None = None) -> Flow[ClusterPower]:
        """Watts of a cluster: allowed, planned and measured now (operators).

        >>> operator.power().cluster
        'demo'
        """
        found = yield from cluster_named(self, cluster)
        return (yield from self.ask(get(f"clusters/{found.id}/power/", ClusterPower)))


def cluster_named(asker: Asker, name: str | None) -> Flow[Cluster]:
    wanted = name or (yield from the_cluster(asker))
    return (yield from named(asker.rules, "clusters/", Page[Cluster], wanted))


def the_cluster(asker: Asker) -> Flow[str]:
    """The client's, or the only one there is, which is then remembered."""
    if asker.cluster is None:
        found = yield from asker.ask(get("clusters/", Page[Cluster], limit=50))
        names = sorted(cluster.name for cluster in found.items)
        if len(names) != 1:
            raise FairwattError(
                "The job names no cluster." if names else "The service has no cluster yet.",
                f"Choose one with --cluster, or `cluster` of the job: {', '.join(names)}."
                if names
                else "An operator makes one: POST /api/v1/clusters/.",
            )
        asker.cluster = names[0]
    return asker.cluster
