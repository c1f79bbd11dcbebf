"""Machines: see them, take them out, bring them in."""

from fairwatt.call import Call, Flow, Stream, get, post
from fairwatt.calls.clusters import cluster_named
from fairwatt.operation import Asker, operation, procedure, stream
from fairwatt.pages import Page, all_pages, named
from fairwatt.structs.clusters import GpuType, JoinToken, Node
from fairwatt.structs.energy import NodeEnergy


class NodeCalls(Asker):
    @stream
    def nodes(self, *, cluster: str | None = None, state: str | None = None) -> Stream[Node]:
        """All nodes, with their GPUs.

        >>> {node.gpu_type for node in client.nodes(state="ready")} <= {"A100", "V100"}
        True
        """
        return all_pages(self.rules, "nodes/", Page[Node], {"cluster": cluster, "state": state})

    @operation
    def node(self, node_id: int) -> Call[Node]:
        """One node.

        >>> client.node(node.id).name == node.name
        True
        """
        return get(f"nodes/{node_id}/", Node)

    @procedure
    def node_named(self, name: str) -> Flow[Node]:
        """A node by its name.

        >>> client.node_named(node.name).id == node.id
        True
        """
        return (yield from named(self.rules, "nodes/", Page[Node], name))

    @operation
    def drain(self, node_id: int, *, reason: str | None = None) -> Call[Node]:
        """Give a node nothing new; what runs there runs to its end (operators).

        >>> operator.drain(node.id, reason="new power supply").state_reason
        'new power supply'
        """
        return post(f"nodes/{node_id}/drain/", Node, {"reason": reason} if reason else {})

    @operation
    def resume(self, node_id: int) -> Call[Node]:
        """Give a drained node work again (operators).

        >>> operator.resume(node.id).state.value
        'ready'
        """
        return post(f"nodes/{node_id}/resume/", Node)

    @procedure
    def join_token(
        self,
        *,
        cluster: str | None = None,
        partition: str | None = None,
        rack: str | None = None,
        lifetime_s: int | None = None,
    ) -> Flow[JoinToken]:
        """A token with which one machine joins a cluster; shown once (operators).

        >>> operator.join_token().secret[:5]
        'fw_j_'
        """
        found = yield from cluster_named(self, cluster)
        optional = {"partition": partition, "rack": rack, "lifetime_s": lifetime_s}
        body = {"cluster": found.name} | {k: v for k, v in optional.items() if v is not None}
        return (yield from self.ask(post("join-tokens/", JoinToken, body)))

    @stream
    def gpu_types(self) -> Stream[GpuType]:
        """The types of GPU there are.

        >>> "A100" in {each.name for each in client.gpu_types()}
        True
        """
        return all_pages(self.rules, "gpu-types/", Page[GpuType], {})

    @operation
    def node_energy(self, node_id: int) -> Call[NodeEnergy]:
        """Every GPU's counter, and what of it was billed, idle or unseen (operators).

        >>> operator.node_energy(node.id).node == node.name
        True
        """
        return get(f"nodes/{node_id}/energy/", NodeEnergy)
