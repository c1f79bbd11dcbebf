"""Resources whose counters and clocks move without a new version."""

from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from rest.views import RetrieveMixin, respond


class FreshRetrieveMixin(RetrieveMixin):
    """The ETag guards what an operator may change; a read is never answered 304."""

    def retrieve(self, request: Request, **kwargs: Any) -> HttpResponse:
        return respond(self.answer(self.row()))
