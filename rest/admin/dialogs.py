"""What ends a dialog over an admin page."""

from typing import Any

from django.http import HttpResponse
from django.urls import reverse


def close_dialog(url_name: str, *ids: Any) -> HttpResponse:
    """Dialogs are sent by htmx, which goes where this header says."""
    return HttpResponse(headers={"HX-Redirect": reverse(url_name, args=ids)})
