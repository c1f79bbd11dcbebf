"""The OpenAPI document, derived from what the base views declare."""

import re
from collections.abc import Callable
from typing import Any

from drf_spectacular.openapi import AutoSchema as SpectacularSchema
from drf_spectacular.plumbing import ResolvedComponent

from rest import openapi
from rest.pagination import KeysetPagination
from rest.structs import node_of
from rest.structs.containers import StructNode
from rest.structs.nodes import ChoiceNode
from rest.views import Example

Schema = dict[str, Any]
JSON = "application/json"


def _one(resource: str) -> str:
    """`jobs` as `a job`."""
    if resource.endswith("series"):
        noun = resource
    elif resource.endswith("ies"):
        noun = resource.removesuffix("ies") + "y"
    else:
        noun = re.sub("(?<=ch)es$|s$", "", resource)
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


_SUMMARIES: dict[str, Callable[[str], str]] = {
    "list": lambda resource: f"List {resource}",
    "create": lambda resource: f"Create {_one(resource)}",
    "retrieve": lambda resource: f"Read {_one(resource)}",
    "partial_update": lambda resource: f"Change {_one(resource)}",
    "destroy": lambda resource: f"Delete {_one(resource)}",
}


class AutoSchema(SpectacularSchema):
    """Reads JSONView and its children."""

    view: Any

    @property
    def action(self) -> str:
        return str(getattr(self.view, "action", None) or self.method.lower())

    @property
    def example(self) -> Example:
        found: Example = self.view.examples.get(self.action, Example())
        return found

    def get_operation(self, *args: Any, **kwargs: Any) -> Schema | None:
        operation = super().get_operation(*args, **kwargs)
        if operation:
            self._add_examples(operation)
        return operation

    def get_operation_id(self) -> str:
        return f"{self.view.resource}_{self.method_mapping.get(self.action, self.action)}"

    def get_tags(self) -> list[str]:
        """The room that the view stands in: few groups, each with an introduction."""
        return [type(self.view).__module__.partition(".")[0]]

    def get_summary(self) -> str | None:
        if self.action in self.view.summaries:
            return str(self.view.summaries[self.action])
        if self.action in _SUMMARIES:
            return _SUMMARIES[self.action](self.view.resource.replace("_", " "))
        return self.get_description().split(".")[0].strip() or None

    def get_auth(self) -> list[Schema]:
        if not self.view.authentication_classes:
            return []
        self._register(
            "bearer", AutoSchema, {"type": "http", "scheme": "bearer"}, "securitySchemes"
        )
        return [{"bearer": []}]

    def _get_parameters(self) -> list[Schema]:
        path = [openapi.path_parameter(name, self.view) for name in self._path_variables()]
        return [
            *path,
            *openapi.query_parameters(self.view, self.action),
            *openapi.header_parameters(self.view, self.action, self.method),
        ]

    def _path_variables(self) -> list[str]:
        return [part.split("}")[0] for part in self.path.split("{")[1:]]

    def _get_request_body(self, direction: Any = "request") -> Schema | None:
        shape = self.view.inputs.get(self.action)
        if shape is None:
            return None
        node = node_of(shape)
        body: Schema = {"content": {JSON: {"schema": node.schema(self._component)}}}
        required = any(member.required for member in node.members)
        return {**body, "required": True} if required else body

    def _get_response_bodies(self, direction: Any = "response") -> Schema:
        status = self.view.success_status(self.action)
        responses = self._success(status)
        headers = openapi.success_headers(self.view, self.action, self.method, status)
        responses[str(status)].setdefault("headers", {}).update(headers)
        self._register("Problem", openapi.PROBLEM["title"], openapi.PROBLEM)
        has_path = "{" in self.path
        refusals = openapi.refusals(self.view, self.action, self.method, has_path=has_path)
        return {**responses, **refusals}

    def _success(self, status: int) -> Schema:
        if status == 204:
            return {"204": {"description": "No response body"}}
        shape = self.view.output_for(self.action)
        schema = node_of(shape).schema(self._component)
        if self.action == "list":
            name = f"Paginated{shape.__name__}List"
            items = {"type": "array", "items": schema}
            page = KeysetPagination().get_paginated_response_schema(items)
            schema = self._register(name, name, page)
        return {str(status): {"content": {JSON: {"schema": schema}}, "description": ""}}

    def _component(self, node: StructNode | ChoiceNode) -> Schema:
        """What has a name of its own as a component; the registry warns if another has the name."""
        name, kind = node.component_name, ResolvedComponent.SCHEMA
        component = ResolvedComponent(name=name, type=kind, object=name)  # type: ignore[no-untyped-call]
        if component not in self.registry:
            self.registry.register(component)
            component.schema = node.component(self._component)
        reference: Schema = component.ref
        return reference

    def _register(self, name: str, of: Any, schema: Schema, kind: str = "schemas") -> Schema:
        component = ResolvedComponent(name=name, type=kind, object=of, schema=schema)  # type: ignore[no-untyped-call]
        self.registry.register_on_missing(component)
        reference: Schema = component.ref
        return reference

    def _add_examples(self, operation: Schema) -> None:
        sent = self._example_of(self.view.inputs.get(self.action), self.example.request)
        for media in operation.get("requestBody", {}).get("content", {}).values():
            _set_example(media, sent)
        status = str(self.view.success_status(self.action))
        shape = None if status == "204" else self.view.output_for(self.action)
        answered = self._example_of(shape, self.example.response)
        if answered is not None and self.action == "list":
            answered = {"items": [answered], "next": None}
        for media in operation["responses"][status].get("content", {}).values():
            _set_example(media, answered)

    @staticmethod
    def _example_of(shape: Any, given: Any) -> Any:
        if given is not None or shape is None:
            return given
        return node_of(shape).example()


def _set_example(media: Schema, value: Any) -> None:
    if value is not None:
        media.setdefault("example", value)
