"""A resource without a domain, and views that fail in every way, to try the conventions on."""

from typing import Any

from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.db import DataError, IntegrityError, OperationalError
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.urls import path
from rest_framework.request import Request

from rest import fields
from rest.filters import FilterSet, IntegerFilter, TextFilter
from rest.problems import Conflict
from rest.routing import Router
from rest.serializers import StrictModelSerializer, StrictSerializer, validated
from rest.views import Answer, CreateMixin, Example, JSONView, ListMixin, RetrieveMixin, respond

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


class GroupOut(StrictModelSerializer):
    class Meta:
        model = Group
        fields = ("id", "name")
        read_only_fields = fields


class GroupCreate(StrictSerializer):
    name = fields.Text(max_length=150)


class GroupFilters(FilterSet):
    name = TextFilter()
    above = IntegerFilter("id", lookup_expr="gt")


class GroupViewSet(Open, ListMixin, RetrieveMixin, CreateMixin):
    resource = "groups"
    output = GroupOut
    inputs = {"create": GroupCreate}
    filterset_class = GroupFilters
    ordering_fields = ("id", "name")
    secret_members = ("secret",)
    examples = {"create": Example(request={"name": "a"}, response={"id": 1, "name": "a"})}

    def rows(self) -> QuerySet[Group]:
        return Group.objects.all()

    def shown(self, row: Group) -> Any:
        return {**super().shown(row), "secret": "hush"}

    def perform_create(self, values: dict[str, Any]) -> Group:
        group = Group.objects.create(**values)
        if group.name == "refused":
            raise Conflict("Not that one.", code="refused")
        if group.name == "crash":
            raise RuntimeError("the effect broke half-way")
        return group


class Wheel(StrictSerializer):
    bolts = fields.Integer(min_value=0, max_value=9)


class Car(StrictSerializer):
    name = fields.Text(max_length=10)
    wheels = Wheel(many=True, required=False)


class CarView(Open):
    """Echoes what it understood."""

    resource = "cars"
    inputs = {"post": Car}
    query_parameters = {"get": {"speed": IntegerFilter()}}

    def get(self, request: Request) -> HttpResponse:
        return respond(Answer(self.query()))

    def post(self, request: Request) -> HttpResponse:
        return respond(Answer(self.input()))


class BulkView(Open):
    resource = "bulk"

    def post(self, request: Request) -> HttpResponse:
        return respond(Answer(validated(Bulk, request.data)))


class Bulk(StrictSerializer):
    cars = Car(many=True)


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
