"""Base classes of every resource: an app declares shapes and rights, and calls its services."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView
from rest_framework.viewsets import ViewSetMixin

from rest import etag, idempotency
from rest.filters import (
    Filter,
    filtered,
    known_parameters,
    named,
    read_parameters,
    refuse_unknown_parameters,
)
from rest.json import JSONNegotiation, encode
from rest.pagination import KeysetPagination
from rest.problems import NotFound
from rest.routing import ID
from rest.structs import given, read, show

Shape = type[msgspec.Struct]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a write returns, before it is bytes."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Example:
    """What the schema shows for one operation instead of what its fields say, put together.

    `response` is one item, also of a list.
    """

    request: Any = None
    response: Any = None


class JSONView(APIView):
    """One address that answers JSON; `rights` maps an action (or HTTP method) to a right."""

    resource: ClassVar[str]
    rights: ClassVar[Mapping[str, str]] = {}
    output: ClassVar[Shape]
    outputs: ClassVar[Mapping[str, Shape]] = {}
    inputs: ClassVar[Mapping[str, Shape]] = {}
    statuses: ClassVar[Mapping[str, int]] = {}
    # Per action: parameters of operations that are not lists, and ids in the path that are not ids.
    query_parameters: ClassVar[Mapping[str, Mapping[str, Filter]]] = {}
    path_parameters: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    etag_prefix: ClassVar[str] = ""
    secret_members: ClassVar[tuple[str, ...]] = ()
    examples: ClassVar[Mapping[str, Example]] = {}
    # Per action: what the schema calls the operation, if not what its verb and resource say.
    summaries: ClassVar[Mapping[str, str]] = {}
    content_negotiation_class = JSONNegotiation
    metadata_class = None

    @property
    def default_response_headers(self) -> dict[str, str]:
        return {}

    @property
    def caller(self) -> Any:
        return self.request.auth

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Like DRF's, but counts before it refuses, so that guessing tokens is throttled too."""
        self.format_kwarg = None
        renderer = self.perform_content_negotiation(request)
        request.accepted_renderer, request.accepted_media_type = renderer
        try:
            self.perform_authentication(request)
        finally:
            self.check_throttles(request)
        self.check_permissions(request)
        if request.META.get("QUERY_STRING") and hasattr(self, str(request.method).lower()):
            refuse_unknown_parameters(request, known_parameters(self, self.action_name()))

    def action_name(self) -> str:
        """The viewset's action, or the method of a plain view; HEAD is a GET."""
        method = str(self.request.method).lower()
        return str(getattr(self, "action", None) or ("get" if method == "head" else method))

    def output_for(self, action: str) -> Shape:
        return self.outputs.get(action, self.output)

    def success_status(self, action: str) -> int:
        return self.statuses.get(action, {"create": 201, "destroy": 204}.get(action, 200))

    def input(self) -> Any:
        """The body as the action's input struct."""
        return read(self.inputs[self.action_name()], self.request.data)

    def query(self) -> dict[str, Any]:
        """The action's own query parameters, checked; absent ones are absent."""
        declared = self.query_parameters.get(self.action_name(), {})
        return read_parameters(self.request, declared)

    def options(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        return bodiless(204, {"Allow": ", ".join(self.allowed_methods)})

    def identity(self) -> str:
        """Whose idempotency keys these are."""
        return str(self.caller.identity)

    def write(self, effect: Callable[[], Answer]) -> HttpResponse:
        """Run `effect` in one transaction with the answer its Idempotency-Key will replay."""
        request: HttpRequest = self.request._request
        key = idempotency.key_of(request) if request.method == "POST" else None
        with transaction.atomic():
            if key is None:
                return respond(effect())
            claim = idempotency.claim(request, self.identity(), key)
            if isinstance(claim, HttpResponse):
                return claim
            answer = effect()
            response = respond(answer)
            claim.keep(response, self._without_secrets(answer))
            return response

    def _without_secrets(self, answer: Answer) -> bytes | None:
        if not self.secret_members:
            return None
        hidden = dict.fromkeys(self.secret_members)
        if isinstance(answer.body, msgspec.Struct):
            return encode(msgspec.structs.replace(answer.body, **hidden))
        return encode({**answer.body, **hidden})


def bodiless(status: int, headers: Mapping[str, str]) -> HttpResponse:
    response = HttpResponse(status=status, headers=headers)
    del response["Content-Type"]
    return response


def respond(answer: Answer) -> HttpResponse:
    if answer.status == 204:
        return bodiless(204, answer.headers)
    return HttpResponse(
        encode(answer.body),
        status=answer.status,
        content_type="application/json",
        headers=answer.headers,
    )


class ResourceViewSet(ViewSetMixin, JSONView, ABC):
    """A resource; add the mixins of the actions it has and the `perform_` methods they call."""

    filters: ClassVar[Mapping[str, Filter]] = {}
    ordering_fields: ClassVar[tuple[str, ...]] = ("id",)
    pagination_class = KeysetPagination
    lookup_field = "id"
    lookup_value_regex = ID

    @classmethod
    def list_filters(cls) -> Mapping[str, Filter]:
        return named(cls.filters)

    @abstractmethod
    def rows(self) -> QuerySet[Any]:
        """The rows this caller may see."""

    def row(self) -> Any:
        found = self.rows().filter(id=int(self.kwargs["id"])).first()
        if found is None:
            raise NotFound
        return found

    def shown(self, row: Any) -> Any:
        return show(self.output_for(self.action_name()), row, **self.members(row))

    def members(self, row: Any) -> Mapping[str, Any]:
        """Members of the output that the row itself does not have."""
        return {}

    def answer(self, row: Any, status: int = 200) -> Answer:
        headers = {"ETag": etag.etag(self.etag_prefix, row)} if self.etag_prefix else {}
        return Answer(self.shown(row), status, headers)


def crud_rights(resource: str) -> dict[str, str]:
    """`.read` for looking, `.write` for changing."""
    read, write = f"{resource}.read", f"{resource}.write"
    looking = dict.fromkeys(("list", "retrieve"), read)
    return looking | dict.fromkeys(("create", "partial_update", "destroy"), write)


class ListMixin(ResourceViewSet):
    def list(self, request: Request, **kwargs: Any) -> HttpResponse:
        rows = filtered(self.rows(), request, self.list_filters())
        paginator = self.pagination_class()
        page = paginator.paginate_queryset(rows, request, self)
        return respond(Answer(paginator.page([self.shown(row) for row in page])))


class RetrieveMixin(ResourceViewSet):
    # Counters and clocks of the row move without a new version: a read is never answered 304.
    moves_without_version: ClassVar[bool] = False

    def retrieve(self, request: Request, **kwargs: Any) -> HttpResponse:
        row = self.row()
        if (
            self.etag_prefix
            and not self.moves_without_version
            and etag.is_unchanged(request, etag.etag(self.etag_prefix, row))
        ):
            return bodiless(304, {"ETag": etag.etag(self.etag_prefix, row)})
        return respond(self.answer(row))


class CreateMixin(ResourceViewSet):
    def create(self, request: Request, **kwargs: Any) -> HttpResponse:
        values = self.input()

        def effect() -> Answer:
            row = self.perform_create(values)
            answer = self.answer(row, 201)
            location = f"{request.path.rstrip('/')}/{row.pk}/"
            return Answer(answer.body, 201, {**answer.headers, "Location": location})

        return self.write(effect)

    @abstractmethod
    def perform_create(self, values: Any) -> Any:
        """`values` is the input's struct."""


class UpdateMixin(ResourceViewSet):
    def partial_update(self, request: Request, **kwargs: Any) -> HttpResponse:
        changes = given(self.input())

        def effect() -> Answer:
            row = self.row()
            etag.expect_match(request, etag.etag(self.etag_prefix, row))
            return self.answer(self.perform_update(row, changes) if changes else row)

        return self.write(effect)

    @abstractmethod
    def perform_update(self, row: Any, changes: Any) -> Any:
        """`changes` is a dict of the fields that were sent."""


class DestroyMixin(ResourceViewSet):
    def destroy(self, request: Request, **kwargs: Any) -> HttpResponse:
        def effect() -> Answer:
            row = self.row()
            if self.etag_prefix:
                etag.expect_match(request, etag.etag(self.etag_prefix, row))
            self.perform_destroy(row)
            return Answer(status=204)

        return self.write(effect)

    @abstractmethod
    def perform_destroy(self, row: Any) -> None:
        """The version is right by now."""
