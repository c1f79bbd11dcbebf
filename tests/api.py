"""A JSON client for the tests: one header bag, bodies as values."""

from typing import Any

from django.test import Client

from rest.json import encode


class Api:
    """`raise_request_exception` is off: a crash must come back as a problem, like in production."""

    def __init__(self, secret: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        self.client = Client(headers=headers, raise_request_exception=False)

    def get(self, path: str, headers: dict[str, str] | None = None) -> Any:
        return self.client.get(path, headers=headers)

    def post(self, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        return self.send("POST", path, encode(body if body is not None else {}), headers)

    def patch(self, path: str, body: Any, headers: dict[str, str] | None = None) -> Any:
        return self.send("PATCH", path, encode(body), headers)

    def delete(self, path: str, headers: dict[str, str] | None = None) -> Any:
        return self.send("DELETE", path, b"", headers)

    def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Any:
        return self.client.generic(method, path, body, content_type, headers=headers)
