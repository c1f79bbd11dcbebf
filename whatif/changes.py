"""The live cluster as it is not: another power budget, nodes more or less."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clusters.models import Cluster, Node
from policies.contract.columns import I64
from policies.contract.snapshot import NodeState, NodeTable, Snapshot
from rest.problems import Contradiction
from tariffs.models import Tariff

Values = Mapping[str, Any]


def check_names(policies: Sequence[Values], cluster: Cluster | None) -> None:
    """Refuse nodes that the cluster does not have, and tariffs that nobody has."""
    for index, chosen in enumerate(policies):
        changes, at = chosen["changes"], f"/policies/{index}/changes"
        if changes is None:
            continue
        if cluster is None:
            detail = "Only the live queue of a cluster is changed; describe `machines` instead."
            raise Contradiction.at(at, "not_live", detail)
        _check_nodes(changes, cluster, at)
        tariff = changes["tariff"]
        if tariff is not None and not Tariff.objects.filter(name=tariff).exists():
            detail = f"There is no tariff {tariff!r}."
            raise Contradiction.at(f"{at}/tariff", "unknown_tariff", detail)


def _check_nodes(changes: Values, cluster: Cluster, at: str) -> None:
    known = set(Node.objects.filter(cluster=cluster).values_list("name", flat=True))
    named = [
        *((f"add_nodes/{n}/like", each["like"]) for n, each in enumerate(changes["add_nodes"])),
        *((f"remove_nodes/{n}", name) for n, name in enumerate(changes["remove_nodes"])),
    ]
    for where, name in named:
        if name not in known:
            detail = f"The cluster has no node {name!r}."
            raise Contradiction.at(f"{at}/{where}", "unknown_node", detail)


def changed(snapshot: Snapshot, changes: Values | None, cluster: Cluster) -> Snapshot:
    """Of nodes that are removed, the empty are gone, and the others get no new work."""
    if changes is None:
        return snapshot
    names = [*changes["remove_nodes"], *(each["like"] for each in changes["add_nodes"])]
    rows = _rows(snapshot, cluster, names)
    gone = np.array([rows[n] for n in changes["remove_nodes"] if n in rows], np.int64)
    more = [(rows[e["like"]], e["count"]) for e in changes["add_nodes"] if e["like"] in rows]
    smaller = _without(_with(snapshot, more), gone)
    if changes["power_budget_w"] is None:
        return smaller
    return replace(smaller, power_budget_w=float(changes["power_budget_w"]))


def _rows(snapshot: Snapshot, cluster: Cluster, names: Sequence[str]) -> dict[str, int]:
    """Rows of the snapshot; a node that has left since is not among them."""
    ids = dict(Node.objects.filter(cluster=cluster, name__in=names).values_list("name", "pk"))
    row_of = {pk: row for row, pk in enumerate(snapshot.nodes.id.tolist())}
    return {name: row_of[pk] for name, pk in ids.items() if pk in row_of}


def _with(snapshot: Snapshot, more: Sequence[tuple[int, int]]) -> Snapshot:
    """Ready and empty nodes like those of the given rows, where those stand."""
    like = np.array([row for row, count in more for _ in range(count)], np.int64)
    if not len(like):
        return snapshot
    nodes = snapshot.nodes
    new = {name: values[like] for name, values in nodes.columns()}
    new |= {
        "id": nodes.id.max() + 1 + np.arange(len(like)),
        "state": np.full(len(like), NodeState.READY),
        "free_gpus": (np.uint64(1) << new["gpus"].astype(np.uint64)) - np.uint64(1),
        "free_cpus": new["cpus"],
        "free_mem_mib": new["mem_mib"],
        "idle_since_s": np.full(len(like), snapshot.now_s),
    }
    both = {name: np.concatenate((values, new[name])) for name, values in nodes.columns()}
    return replace(snapshot, nodes=NodeTable.of(**both))


def _without(snapshot: Snapshot, rows: I64) -> Snapshot:
    if not len(rows):
        return snapshot
    nodes, held = snapshot.nodes, snapshot.placements
    state = nodes.state.copy()
    state[rows] = NodeState.DRAINING
    stays = np.ones(len(nodes), np.bool_)
    stays[rows] = np.isin(rows, held.node)
    columns = {name: values[stays] for name, values in nodes.columns()} | {"state": state[stays]}
    # References are row numbers, and those behind a gap have moved up.
    place = (np.cumsum(stays) - 1).astype(np.int32)
    return replace(
        snapshot,
        nodes=NodeTable.of(**columns),
        placements=replace(held, node=place[held.node]),
    )
