"""The OpenAPI document and its pages, open to all: a client is generated before it logs in."""

from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.views import SpectacularAPIView, SpectacularRedocView, SpectacularSwaggerView
from rest_framework.negotiation import DefaultContentNegotiation


class SchemaView(SpectacularAPIView):
    authentication_classes = ()
    permission_classes = ()
    renderer_classes = [OpenApiYamlRenderer, OpenApiJsonRenderer]
    content_negotiation_class = DefaultContentNegotiation


class SwaggerView(SpectacularSwaggerView):
    authentication_classes = ()
    permission_classes = ()
    content_negotiation_class = DefaultContentNegotiation


class RedocView(SpectacularRedocView):
    authentication_classes = ()
    permission_classes = ()
    content_negotiation_class = DefaultContentNegotiation
