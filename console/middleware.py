"""What browsers may load and do on pages of the console, refusals included."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

PREFIX = "/console/"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class ContentPolicyMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        answer = self.get_response(request)
        if request.path.startswith(PREFIX):
            answer["Content-Security-Policy"] = POLICY
            answer["Referrer-Policy"] = "same-origin"
            # What one person saw is not for whoever goes back in the same browser.
            answer.setdefault("Cache-Control", "no-store")
        return answer
