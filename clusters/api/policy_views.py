"""The policies there are, from the registry."""

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.viewsets import ViewSetMixin

from clusters.api.structs import PolicyListOut, PolicyOut
from policies import registry
from rest.problems import NotFound
from rest.views import Answer, JSONView, respond

NAME = "[a-z0-9-]{1,63}"


class PolicyViewSet(ViewSetMixin, JSONView):
    """Policies that a cluster may run, with the JSON schema of their parameters."""

    resource = "policies"
    rights = {"all": "policies.read", "retrieve": "policies.read"}
    output = PolicyOut
    outputs = {"all": PolicyListOut}
    path_parameters = {"name": {"type": "string", "pattern": f"^{NAME}$"}}

    def all(self, request: Request) -> HttpResponse:
        """Every policy, on one page."""
        items = [described(name) for name in registry.policy_names()]
        return respond(Answer(PolicyListOut(items, next=None)))

    def retrieve(self, request: Request, name: str) -> HttpResponse:
        if name not in registry.policy_names():
            raise NotFound("There is no policy of this name; /api/v1/policies/ lists them.")
        return respond(Answer(described(name)))


def described(name: str) -> PolicyOut:
    return PolicyOut(
        name=name,
        summary=registry.summary(name),
        promises=["work_conserving"] if registry.build(name, {}).work_conserving else [],
        parameters=registry.parameter_schema(name),
    )
