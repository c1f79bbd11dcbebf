"""GPU types, nodes, GPUs and join tokens: shape and rights here, decisions in the services."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import action
from rest_framework.request import Request

from clusters import selectors, services
from clusters.api import structs
from clusters.models import Gpu, JoinToken, Node
from rest.filters import BooleanFilter, ChoiceFilter, IntegerFilter, TextFilter
from rest.resources import NamedResource
from rest.services import Values
from rest.structs import given, show
from rest.views import (
    Answer,
    CreateMixin,
    DestroyMixin,
    ListMixin,
    RetrieveMixin,
    UpdateMixin,
    crud_rights,
)


class GpuTypeViewSet(NamedResource):
    """Kinds of GPU. Jobs ask for them by name, so a name never changes."""

    resource = "gpu_types"
    output = structs.GpuTypeOut
    inputs = {"create": structs.GpuTypeCreate, "partial_update": structs.GpuTypePatch}
    filters = {"name": TextFilter()}
    ordering_fields = ("id", "name")
    etag_prefix = "gpu_type"
    services = services.GPU_TYPES


class NodeViewSet(NamedResource):
    """Machines with up to 64 GPUs of one type; a node that holds work cannot be deleted."""

    resource = "nodes"
    rights = {"drain": "nodes.write", "resume": "nodes.write"}
    output = structs.NodeOut
    inputs = {
        "create": structs.NodeCreate,
        "partial_update": structs.NodePatch,
        "drain": structs.NodeDrain,
    }
    filters = {
        "cluster": TextFilter("cluster__name"),
        "partition": TextFilter("partition__name"),
        "rack": TextFilter("rack__name"),
        "gpu_type": TextFilter("gpu_type__name"),
        "state": ChoiceFilter(Node.State),
        "name": TextFilter(),
    }
    etag_prefix = "node"
    moves_without_version = True
    services = services.NODES

    def perform_create(self, values: structs.NodeCreate) -> Node:
        """With its GPUs, as every other answer shows them."""
        made: Node = super().perform_create(values)
        return selectors.nodes().get(pk=made.pk)

    @action(detail=True, methods=["post"])
    def drain(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Give the node no new work; it is drained when the last attempt on it has ended."""
        reason = self.input().reason

        def effect() -> Answer:
            node, now = self.row(), timezone.now()
            return self.answer(
                services.node_drain(caller=self.caller, node=node, reason=reason, now=now)
            )

        return self.write(effect)

    @action(detail=True, methods=["post"])
    def resume(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Let the node have work again. A lost node comes back by itself, when its agent does."""

        def effect() -> Answer:
            now = timezone.now()
            return self.answer(services.node_resume(caller=self.caller, node=self.row(), now=now))

        return self.write(effect)


class GpuViewSet(ListMixin, RetrieveMixin, UpdateMixin):
    """Single GPUs. An unhealthy one gets no new work; what runs on it runs on."""

    resource = "gpus"
    rights = crud_rights("gpus")
    output = structs.GpuOut
    inputs = {"partial_update": structs.GpuPatch}
    filters = {
        "cluster": TextFilter("node__cluster__name"),
        "node_id": IntegerFilter(),
        "gpu_type": TextFilter("node__gpu_type__name"),
        "uuid": TextFilter(),
        "healthy": BooleanFilter(),
    }
    etag_prefix = "gpu"
    moves_without_version = True

    def rows(self) -> QuerySet[Gpu]:
        return selectors.gpus()

    def perform_update(self, row: Gpu, changes: Values) -> Gpu:
        return services.gpu_update(self.caller, row, changes)


class JoinTokenViewSet(ListMixin, RetrieveMixin, CreateMixin, DestroyMixin):
    """Single-use rights to register a node. The secret is shown once; only its hash is kept."""

    resource = "join_tokens"
    rights = crud_rights("join_tokens")
    output = structs.JoinTokenOut
    outputs = {"create": structs.JoinTokenWithSecret}
    inputs = {"create": structs.JoinTokenCreate}
    filters = {
        "cluster": TextFilter("cluster__name"),
        "used": BooleanFilter("used_at", "isnull", exclude=True),
        "revoked": BooleanFilter("revoked_at", "isnull", exclude=True),
    }
    secret_members = ("secret",)

    def rows(self) -> QuerySet[JoinToken]:
        return selectors.join_tokens()

    def shown(self, row: JoinToken | services.NewJoinToken) -> Any:
        if isinstance(row, services.NewJoinToken):
            return show(structs.JoinTokenWithSecret, row.token, secret=row.secret)
        return super().shown(row)

    def perform_create(self, values: structs.JoinTokenCreate) -> services.NewJoinToken:
        return services.join_token_create(caller=self.caller, now=timezone.now(), **given(values))

    def perform_destroy(self, row: JoinToken) -> None:
        """Revoke the token; it stays listed."""
        services.join_token_revoke(caller=self.caller, token=row, now=timezone.now())
