"""Content negotiation for a service that only speaks JSON."""

from typing import Any

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request

_PLAIN = {"", "*/*", "application/json"}


class JSONNegotiation(DefaultContentNegotiation):
    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[Any, str]:
        """What nearly every client sends is answered without parsing media types."""
        if request.META.get("HTTP_ACCEPT", "") in _PLAIN:
            return renderers[0], renderers[0].media_type
        return super().select_renderer(request, renderers, format_suffix)  # type: ignore[no-any-return]

    def filter_renderers(self, renderers: Any, format: str) -> Any:  # noqa: A002
        """`?format=` means nothing here; strict parameters refuse it later."""
        return renderers
