"""The OpenAPI document, derived from what the base views declare."""

from typing import Any

from drf_spectacular.openapi import AutoSchema as SpectacularAutoSchema
from drf_spectacular.plumbing import ResolvedComponent, append_meta

from rest import openapi
from rest.serializers import Strict
from rest.views import Example, JSONView

Schema = dict[str, Any]


class AutoSchema(SpectacularAutoSchema):
    """Understands JSONView and its children; anything else is left to drf-spectacular."""

    view: Any

    @property
    def declared(self) -> bool:
        return isinstance(self.view, JSONView)

    @property
    def action(self) -> str:
        return str(getattr(self.view, "action", None) or self.method.lower())

    @property
    def example(self) -> Example:
        found: Example = self.view.examples.get(self.action, Example())
        return found

    def get_operation(self, *args: Any, **kwargs: Any) -> Schema | None:
        operation = super().get_operation(*args, **kwargs)
        if operation and self.declared:
            self._add_examples(operation)
        return operation

    def get_operation_id(self) -> str:
        if not self.declared:
            return super().get_operation_id()
        verb = self.method_mapping.get(self.action, self.action)
        return f"{self.view.resource}_{verb}"

    def get_tags(self) -> list[str]:
        return [self.view.resource] if self.declared else super().get_tags()

    def get_summary(self) -> str | None:
        first = self.get_description().split(".")[0].strip()
        return first or None

    def get_auth(self) -> list[Schema]:
        if not self.declared:
            return super().get_auth()
        if not self.view.authentication_classes:
            return []
        self.registry.register_on_missing(
            ResolvedComponent(  # type: ignore[no-untyped-call]
                name="bearer",
                type=ResolvedComponent.SECURITY_SCHEMA,
                object=AutoSchema,
                schema={"type": "http", "scheme": "bearer"},
            )
        )
        return [{"bearer": []}]

    def get_request_serializer(self) -> Any:
        if not self.declared:
            return super().get_request_serializer()
        return self.view.inputs.get(self.action)

    def get_response_serializers(self) -> Any:
        if not self.declared:
            return super().get_response_serializers()
        status = self.view.success_status(self.action)
        return {status: None if status == 204 else self.view.output_for(self.action)}

    def _is_list_view(self, serializer: Any = None) -> bool:
        return self.action == "list" if self.declared else super()._is_list_view(serializer)

    def _resolve_path_parameters(self, variables: list[str]) -> list[Schema]:
        if not self.declared:
            return list(super()._resolve_path_parameters(variables))  # type: ignore[no-untyped-call]
        return [openapi.path_parameter(name, self.view) for name in variables]

    def _get_parameters(self) -> list[Schema]:
        parameters = list(super()._get_parameters())
        if self.declared:
            parameters += openapi.query_parameters(self.view, self.action)
            parameters += openapi.header_parameters(self.view, self.action, self.method)
        return parameters

    def _get_format_parameters(self) -> list[Schema]:
        """`?format=` does not exist here; Accept alone chooses between renderers."""
        return [] if self.declared else list(super()._get_format_parameters())

    def _get_response_bodies(self, direction: Any = "response") -> Schema:
        responses: Schema = super()._get_response_bodies(direction)
        if not self.declared or direction != "response":
            return responses
        for status, response in responses.items():
            headers = openapi.success_headers(self.view, self.action, self.method, int(status))
            response.setdefault("headers", {}).update(headers)
        self.registry.register_on_missing(
            ResolvedComponent(  # type: ignore[no-untyped-call]
                name="Problem",
                type=ResolvedComponent.SCHEMA,
                object=openapi.PROBLEM["title"],
                schema=openapi.PROBLEM,
            )
        )
        has_path = "{" in self.path
        refusals = openapi.refusals(self.view, self.action, self.method, has_path=has_path)
        return {**responses, **refusals}

    def _get_request_body(self, direction: Any = "request") -> Schema | None:
        if self.declared and self.get_request_serializer() is None:
            return None
        body: Schema | None = super()._get_request_body(direction)  # type: ignore[no-untyped-call]
        return body

    def _map_serializer_field(
        self,
        field: Any,
        direction: Any,
        bypass_extensions: bool = False,
    ) -> Any:
        own = getattr(field, "json_schema", None)
        if own is not None:
            return append_meta(dict(own), self._get_serializer_field_meta(field, direction))
        return super()._map_serializer_field(field, direction, bypass_extensions)  # type: ignore[no-untyped-call]

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> Schema:
        schema: Schema = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        if direction == "request" and isinstance(serializer, Strict):
            schema["additionalProperties"] = False
        if not type(serializer).__dict__.get("__doc__"):
            # Otherwise the base class would describe every shape.
            schema.pop("description", None)
        return schema

    def _get_serializer_field_meta(self, field: Any, direction: Any) -> Schema:
        meta: Schema = super()._get_serializer_field_meta(field, direction)  # type: ignore[no-untyped-call]
        if direction == "response":
            # A default only says what leaving the input out means.
            meta.pop("default", None)
        return meta

    def _add_examples(self, operation: Schema) -> None:
        body = operation.get("requestBody")
        if body and self.example.request is not None:
            for media in body["content"].values():
                media["example"] = self.example.request
        for status, response in operation["responses"].items():
            if status.startswith("2") and self.example.response is not None:
                value = self.example.response
                shown = {"items": [value], "next": None} if self._is_list_view() else value
                for media in response.get("content", {}).values():
                    media["example"] = shown
