"""The OpenAPI document and its pages, open to all: a client is generated before it logs in."""

from functools import cache
from threading import Lock
from typing import Any

from django.http import HttpResponse
from drf_spectacular.renderers import (
    OpenApiJsonRenderer,
    OpenApiJsonRenderer2,
    OpenApiYamlRenderer,
    OpenApiYamlRenderer2,
)
from drf_spectacular.settings import spectacular_settings
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularRedocView, SpectacularSwaggerView
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from scheduler_service.words import WORDS

_rendering = Lock()


def describe_fields(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Give every field of every component its sentence, unless it has one of its own."""
    for name, component in result.get("components", {}).get("schemas", {}).items():
        for field, said in component.get("properties", {}).items():
            words = WORDS.get(f"{name}.{field}") or WORDS.get(field)
            if words and "description" not in said:
                component["properties"][field] = _with(said, words)
    return result


def _with(said: dict[str, Any], words: str) -> dict[str, Any]:
    """What stands beside a reference is not read: the reference goes one level down."""
    said = {"allOf": [said]} if "$ref" in said else said
    return {**said, "description": words}


class SchemaView(SpectacularAPIView):
    authentication_classes = ()
    permission_classes = ()
    renderer_classes = [
        OpenApiYamlRenderer,
        OpenApiYamlRenderer2,
        OpenApiJsonRenderer,
        OpenApiJsonRenderer2,
    ]
    content_negotiation_class = DefaultContentNegotiation

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:
        """It is the same for everybody, and takes a second of a core to make."""
        renderer: BaseRenderer = request.accepted_renderer
        # Of many who ask at once, one makes it.
        with _rendering:
            document = _document(renderer.format)
        name = f"{spectacular_settings.TITLE}.{renderer.format}"
        return HttpResponse(
            document,
            content_type=request.accepted_media_type,
            headers={"Content-Disposition": f'inline; filename="{name}"'},
        )


@cache
def _document(file_format: str | None) -> str | bytes:
    """Two media types of one format have the same text."""
    kind = next(kind for kind in SchemaView.renderer_classes if kind.format == file_format)
    generator: Any = SchemaView.generator_class()
    return kind().render(generator.get_schema(request=None, public=True), renderer_context={})


class SwaggerView(SpectacularSwaggerView):
    authentication_classes = ()
    permission_classes = ()
    content_negotiation_class = DefaultContentNegotiation


class RedocView(SpectacularRedocView):
    authentication_classes = ()
    permission_classes = ()
    content_negotiation_class = DefaultContentNegotiation
