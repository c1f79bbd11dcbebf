"""The service's settings without its layers: no middleware, no authentication, DRF's defaults."""

from scheduler_service.settings import *  # noqa: F403

MIDDLEWARE = []
ROOT_URLCONF = "lab.benchmarks.api.bare.urls"
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "UNAUTHENTICATED_USER": None,
}
