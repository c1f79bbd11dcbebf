"""A resource without a domain, and views that fail in every way, to try the conventions on."""

from typing import Annotated, Any

import msgspec
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db import DataError, IntegrityError, OperationalError
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.urls import path
from msgspec import UNSET, Meta, UnsetType
from rest_framework.request import Request

from rest.filters import IntegerFilter, TextFilter
from rest.problems import Conflict
from rest.routing import Router
from rest.structs import Id, Input, Output, read, text
from rest.views import Answer, CreateMixin, JSONView, ListMixin, RetrieveMixin, respond

handler400 = "rest.problems.handler400"
handler403 = "rest.problems.handler403"
handler404 = "rest.problems.handler404"
handler500 = "rest.problems.handler500"


class Open(JSONView):
    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()

    def identity(self) -> str:
        return str(self.request.headers.get("X-Who", "anybody"))


class GroupOut(Output, frozen=True):
    id: Id
    name: str
    secret: str | None


class GroupCreate(Input, frozen=True):
    name: Annotated[str, text(150, example="a")]


class GroupViewSet(Open, ListMixin, RetrieveMixin, CreateMixin):
    resource = "groups"
    output = GroupOut
    inputs = {"create": GroupCreate}
    filters = {"name": TextFilter(), "above": IntegerFilter("id", lookup_expr="gt")}
    ordering_fields = ("id", "name")
    secret_members = ("secret",)

    def rows(self) -> QuerySet[Group]:
        return Group.objects.all()

    def members(self, row: Group) -> dict[str, Any]:
        return {"secret": "hush"}

    def perform_create(self, values: GroupCreate) -> Group:
        group = Group.objects.create(name=values.name)
        if group.name == "refused":
            raise Conflict("Not that one.", code="refused")
        if group.name == "crash":
            raise RuntimeError("the effect broke half-way")
        return group


class Wheel(Input, frozen=True):
    bolts: Annotated[int, Meta(ge=0, le=9)]


class Car(Input, frozen=True):
    name: Annotated[str, text(10)]
    wheels: list[Wheel] | UnsetType = UNSET


class CarView(Open):
    """Echoes what it understood."""

    resource = "cars"
    inputs = {"post": Car}
    query_parameters = {"get": {"speed": IntegerFilter()}}

    def get(self, request: Request) -> HttpResponse:
        return respond(Answer(self.query()))

    def post(self, request: Request) -> HttpResponse:
        return respond(Answer(msgspec.to_builtins(self.input())))


class BulkView(Open):
    resource = "bulk"

    def post(self, request: Request) -> HttpResponse:
        return respond(Answer(msgspec.to_builtins(read(Bulk, request.data))))


class Bulk(Input, frozen=True):
    cars: list[Car]


FAILURES: dict[str, Exception] = {
    "runtime": RuntimeError("password=hunter2"),
    "missing": Http404(),
    "denied": PermissionDenied("internal words"),
    "integrity": IntegrityError("unknown constraint"),
    "data": DataError("out of range"),
    "operational": OperationalError("server closed the connection"),
}


class FailingView(Open):
    resource = "failures"

    def get(self, request: Request, kind: str) -> HttpResponse:
        raise FAILURES[kind]


def crash(request: Any) -> HttpResponse:
    raise RuntimeError("password=hunter2")


router = Router()
router.register("groups", GroupViewSet, basename="groups")
urlpatterns = [
    *router.urls,
    path("cars/", CarView.as_view()),
    path("bulk/", BulkView.as_view()),
    path("failures/<str:kind>/", FailingView.as_view()),
    path("crash/", crash),
]
