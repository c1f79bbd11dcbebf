"""GPU types, nodes, GPUs and join tokens: shape and rights here, decisions in the services."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import action
from rest_framework.request import Request

from clusters import selectors, services
from clusters.api import examples, filters, serializers
from clusters.api.fresh import FreshRetrieveMixin
from clusters.models import Gpu, GpuType, JoinToken, Node
from rest.serializers import represented
from rest.views import (
    Answer,
    CreateMixin,
    DestroyMixin,
    ListMixin,
    RetrieveMixin,
    UpdateMixin,
    crud_rights,
)


class GpuTypeViewSet(ListMixin, RetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """Kinds of GPU. Jobs ask for them by name, so a name never changes."""

    resource = "gpu_types"
    rights = crud_rights("gpu_types")
    output = serializers.GpuTypeOut
    inputs = {"create": serializers.GpuTypeCreate, "partial_update": serializers.GpuTypePatch}
    examples = examples.GPU_TYPES
    filterset_class = filters.GpuTypeFilters
    ordering_fields = ("id", "name")
    etag_prefix = "gpu_type"

    def rows(self) -> QuerySet[GpuType]:
        return selectors.gpu_types()

    def perform_create(self, values: dict[str, Any]) -> GpuType:
        return services.gpu_type_create(caller=self.caller, values=values)

    def perform_update(self, row: GpuType, changes: dict[str, Any]) -> GpuType:
        return services.gpu_type_update(caller=self.caller, gpu_type=row, changes=changes)

    def perform_destroy(self, row: GpuType) -> None:
        services.gpu_type_delete(caller=self.caller, gpu_type=row)


class NodeViewSet(ListMixin, FreshRetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """Machines with up to 64 GPUs of one type; a node that holds work cannot be deleted."""

    resource = "nodes"
    rights = {**crud_rights("nodes"), "drain": "nodes.write", "resume": "nodes.write"}
    output = serializers.NodeOut
    inputs = {
        "create": serializers.NodeCreate,
        "partial_update": serializers.NodePatch,
        "drain": serializers.NodeDrain,
    }
    examples = examples.NODES
    filterset_class = filters.NodeFilters
    etag_prefix = "node"

    def rows(self) -> QuerySet[Node]:
        return selectors.nodes()

    def perform_create(self, values: dict[str, Any]) -> Node:
        made = services.node_create(caller=self.caller, **values)
        return self.rows().get(pk=made.pk)

    def perform_update(self, row: Node, changes: dict[str, Any]) -> Node:
        now = timezone.now()
        return services.node_update(caller=self.caller, node=row, changes=changes, now=now)

    def perform_destroy(self, row: Node) -> None:
        services.node_delete(caller=self.caller, node=row)

    @action(detail=True, methods=["post"])
    def drain(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Give the node no new work; it is drained when the last attempt on it has ended."""
        reason = self.input()["reason"]

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


class GpuViewSet(ListMixin, FreshRetrieveMixin, UpdateMixin):
    """Single GPUs. An unhealthy one gets no new work; what runs on it runs on."""

    resource = "gpus"
    rights = crud_rights("gpus")
    output = serializers.GpuOut
    inputs = {"partial_update": serializers.GpuPatch}
    examples = examples.GPUS
    filterset_class = filters.GpuFilters
    etag_prefix = "gpu"

    def rows(self) -> QuerySet[Gpu]:
        return selectors.gpus()

    def perform_update(self, row: Gpu, changes: dict[str, Any]) -> Gpu:
        return services.gpu_update(caller=self.caller, gpu=row, changes=changes)


class JoinTokenViewSet(ListMixin, RetrieveMixin, CreateMixin, DestroyMixin):
    """Single-use rights to register a node. The secret is shown once; only its hash is kept."""

    resource = "join_tokens"
    rights = crud_rights("join_tokens")
    output = serializers.JoinTokenOut
    outputs = {"create": serializers.JoinTokenWithSecret}
    inputs = {"create": serializers.JoinTokenCreate}
    examples = examples.JOIN_TOKENS
    filterset_class = filters.JoinTokenFilters
    secret_members = ("secret",)

    def rows(self) -> QuerySet[JoinToken]:
        return selectors.join_tokens()

    def shown(self, row: JoinToken | services.NewJoinToken) -> Any:
        if isinstance(row, services.NewJoinToken):
            shown = represented(serializers.JoinTokenOut, row.token)
            return {**shown, "secret": row.secret}
        return super().shown(row)

    def perform_create(self, values: dict[str, Any]) -> services.NewJoinToken:
        return services.join_token_create(caller=self.caller, now=timezone.now(), **values)

    def perform_destroy(self, row: JoinToken) -> None:
        """Revoke the token; it stays listed."""
        services.join_token_revoke(caller=self.caller, token=row, now=timezone.now())
