"""The outermost layer: names the request, and refuses what no view should have to see."""

import re
import uuid
from collections.abc import Callable
from io import BytesIO
from urllib.parse import unquote_to_bytes

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from rest.problems import Invalid, Problem, problem_from, response, too_large
from rest.problems.shape import path_of
from rest.version import HEADER, VERSION

REQUEST_ID = "X-Request-ID"
_SANE_ID = re.compile(r"[A-Za-z0-9._:-]{1,100}")


class RequestMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        request_id = given if _SANE_ID.fullmatch(given) else uuid.uuid4().hex
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        try:
            _refuse_bad_address(request)
            _bound_body(request)
            answer = self.get_response(request)
        except Exception as error:  # noqa: BLE001 - nothing may leave without being a problem
            answer = response(problem_from(error), path_of(request))
        answer[REQUEST_ID] = request_id
        answer[HEADER] = VERSION
        return answer


def _refuse_bad_address(request: HttpRequest) -> None:
    query = request.META.get("QUERY_STRING", "")
    if "\x00" in request.path or "\ufffd" in request.path:
        raise Problem("The path is not UTF-8 or contains U+0000.", code="bad_path")
    if "%" in query or not query.isascii():
        raw = unquote_to_bytes(query.encode("latin-1", "replace").replace(b"+", b" "))
        if b"\x00" in raw or not _is_utf8(raw):
            raise Invalid.at("?", "bad_query", "The query is not UTF-8 or contains U+0000.")


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _bound_body(request: HttpRequest) -> None:
    """Refuse a large body by its declared length; one without a length is read up to the limit."""
    declared = request.META.get("CONTENT_LENGTH") or ""
    if declared:
        if not (declared.isascii() and declared.isdigit()):
            detail = "Content-Length is not a number."
            raise Invalid.at("Content-Length", "bad_content_length", detail)
        if int(declared) > settings.MAX_BODY_BYTES:
            raise too_large()
    elif "HTTP_TRANSFER_ENCODING" in request.META:
        body = request.META["wsgi.input"].read(settings.MAX_BODY_BYTES + 1)
        if len(body) > settings.MAX_BODY_BYTES:
            raise too_large()
        request.META["CONTENT_LENGTH"] = str(len(body))
        request._stream = BytesIO(body)  # noqa: SLF001
