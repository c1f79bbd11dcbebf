"""A node's agent introduces itself: with a join token once, under its node token ever after."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import F
from msgspec.structs import asdict

from agent.wire import GpuInventory, Inventory, Register
from clusters.models import Gpu, GpuType, JoinToken, Node
from clusters.node_states import State, advance
from rest.problems import Conflict, Contradiction, Forbidden
from tenancy import audit
from tenancy.callers import SYSTEM, Caller
from tenancy.models import ApiToken
from tenancy.roles import Role
from tenancy.token_text import hash_of
from tenancy.tokens import token_create

# Where a node comes back to by itself; a drained or quarantined one waits for an operator.
RETURNING = (State.JOINING, State.LOST, State.OFF)


@dataclass(frozen=True, slots=True)
class Joined:
    node: Node
    # Only for who came with a join token.
    secret: str | None


@transaction.atomic(savepoint=False)
def node_register(*, caller: Caller | None, register: Register, now: datetime) -> Joined:
    """Every registration raises the node's epoch, which fences whoever spoke for it before."""
    secret = None
    if caller is not None and register.join_token is None:
        node = node_of(caller, lock=True)
    else:
        node, secret = _join(register, now)
    _take_inventory(node, register.inventory, now)
    Node.objects.filter(pk=node.pk).update(
        install_id=register.install_id,
        epoch=F("epoch") + 1,
        sync_sequence=0,
        last_sync_at=now,
        power_told="",
        power_said="",
        updated_at=now,
    )
    advance(Node.objects.filter(pk=node.pk), sources=RETURNING, to=State.READY, now=now, reason="")
    node.refresh_from_db()
    audit.record(SYSTEM, "node.register", node, {"name": node.name, "epoch": node.epoch})
    return Joined(node, secret)


def node_of(caller: Caller, *, lock: bool = False) -> Node:
    """The node behind a node token."""
    rows = Node.objects.select_for_update() if lock else Node.objects.all()
    node = rows.filter(token=caller.token_id).first()
    if node is None:
        raise Forbidden("No node has this token; register with a new join token.", code="no_node")
    return node


def _join(register: Register, now: datetime) -> tuple[Node, str]:
    """Use the join token up; the same installation may ask again, for answers get lost."""
    if register.join_token is None:
        raise Forbidden("Register with a join token or a node token.", code="no_token")
    token = (
        JoinToken.objects.select_for_update()
        .filter(hash=hash_of(register.join_token), revoked_at__isnull=True, expires_at__gt=now)
        .first()
    )
    if token is None or (token.used_at and not _same_install(token, register.install_id)):
        detail = "The join token is unknown, used, revoked or expired; ask an operator for one."
        raise Forbidden(detail, code="join_token_refused")
    node = _node_named(token, register.inventory)
    if node.token is not None:
        ApiToken.objects.filter(pk=node.token.pk).update(revoked_at=now)
    issued = token_create(SYSTEM, name=f"node {node.name}", role=Role.NODE)
    Node.objects.filter(pk=node.pk).update(token=issued.token)
    JoinToken.objects.filter(pk=token.pk).update(used_at=now, used_by=node)
    return node, issued.secret


def _same_install(token: JoinToken, install_id: str) -> bool:
    return token.used_by is not None and token.used_by.install_id == install_id


def _node_named(token: JoinToken, inventory: Inventory) -> Node:
    """An operator may have made the row before, to say where the node stands."""
    known = (
        Node.objects.select_for_update()
        .filter(cluster=token.cluster_id, name=inventory.name)
        .first()
    )
    if known is None:
        return Node.objects.create(
            cluster=token.cluster,
            partition=token.partition,
            rack=token.rack,
            name=inventory.name,
            gpu_type=_gpu_type(inventory.gpus),
            cpus=inventory.cpus,
            memory_mib=inventory.memory_mib,
        )
    if known.token is not None and token.used_by_id != known.pk and known.state != State.LOST:
        detail = f"A node called {inventory.name} is already there; choose another name."
        raise Conflict.at("/inventory/name", "node_name_taken", detail)
    return known


def _take_inventory(node: Node, inventory: Inventory, now: datetime) -> None:
    gpu_type = _gpu_type(inventory.gpus)
    idle_w, peak_w = inventory.host_idle_w or 0, inventory.host_peak_w or 0
    Node.objects.filter(pk=node.pk).update(
        gpu_type=gpu_type,
        cpus=max(inventory.cpus, node.cpus_used),
        memory_mib=max(inventory.memory_mib, node.memory_used_mib),
        host_idle_w=idle_w or node.host_idle_w,
        host_peak_w=max(peak_w or node.host_peak_w, idle_w or node.host_idle_w),
        boot_id=inventory.boot_id,
        address=inventory.address,
        agent_version=inventory.agent_version,
        driver=inventory.driver,
        features=asdict(inventory.features),
        container_tool=inventory.features.containers or "",
        wall=inventory.features.wall,
        workloads=inventory.features.workloads,
        git=inventory.features.git,
    )
    _take_gpus(node, inventory.gpus)


def _take_gpus(node: Node, gpus: Sequence[GpuInventory]) -> None:
    """GPUs are known by uuid; one that is gone keeps its row, for its history, and its fault."""
    uuids = [gpu.uuid for gpu in gpus]
    if foreign := Gpu.objects.filter(uuid__in=uuids).exclude(node=node).first():
        at = f"/inventory/gpus/{uuids.index(foreign.uuid)}/uuid"
        raise Conflict.at(at, "gpu_of_another_node", f"GPU {foreign.uuid} is another node's.")
    rows = {gpu.uuid: gpu for gpu in Gpu.objects.select_for_update().filter(node=node)}
    gone = [gpu for uuid, gpu in rows.items() if uuid not in uuids]
    _retire(gone, {gpu.index for gpu in gpus})
    for gpu in gpus:
        if gpu.uuid in rows:
            Gpu.objects.filter(pk=rows[gpu.uuid].pk).update(index=gpu.index, fault="")
        else:
            Gpu.objects.create(node=node, index=gpu.index, uuid=gpu.uuid)


def _retire(gone: Sequence[Gpu], taken: set[int]) -> None:
    """A GPU that never held work makes room; one that did and is missing is a fault.

    It keeps its row, for its history, but not an index that another GPU has now.
    """
    free = [index for index in range(64) if index not in taken | {gpu.index for gpu in gone}]
    for gpu in gone:
        if not Gpu.objects.filter(pk=gpu.pk, allocation__isnull=False).exists():
            gpu.delete()
            continue
        index = free.pop() if gpu.index in taken and free else gpu.index
        Gpu.objects.filter(pk=gpu.pk).update(fault="missing from the node's inventory", index=index)


def _gpu_type(gpus: Sequence[GpuInventory]) -> GpuType:
    """The type by name, made from the inventory's figures if nobody described it before."""
    names = {gpu.type_name for gpu in gpus}
    if len(names) != 1:
        detail = "A node has GPUs of one type; this one reports " + (", ".join(names) or "none")
        raise Contradiction.at("/inventory/gpus", "one_gpu_type_per_node", detail)
    first = gpus[0]
    described = GpuType(
        name=first.type_name,
        memory_mib=first.memory_mib,
        idle_w=first.idle_w,
        max_w=first.max_w,
        clocks_mhz=list(first.clocks_mhz),
    )
    # Nodes of a new type often come at the same moment.
    GpuType.objects.bulk_create([described], ignore_conflicts=True)
    return GpuType.objects.get(name=first.type_name)
