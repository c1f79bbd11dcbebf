"""A caller of the API who reads ETags before writing."""

from typing import Any

from django.test import Client

ROOT = "/api/v1/"


class ClusterApi:
    """Paths are below /api/v1/; bodies and answers are JSON."""

    def __init__(self, secret: str) -> None:
        self.client = Client(headers={"Authorization": f"Bearer {secret}"})

    def get(self, path: str, **headers: str) -> Any:
        return self.client.get(ROOT + path, headers=headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.client.post(
            ROOT + path, body or {}, content_type="application/json", headers=headers
        )

    def patch(self, path: str, body: Any, if_match: str = "*") -> Any:
        return self.client.patch(
            ROOT + path, body, content_type="application/json", headers={"If-Match": if_match}
        )

    def delete(self, path: str, if_match: str = "*") -> Any:
        return self.client.delete(ROOT + path, headers={"If-Match": if_match})

    def made(self, path: str, body: Any) -> Any:
        """Create, and insist that it worked."""
        answer = self.post(path, body)
        assert answer.status_code == 201, answer.content
        return answer.json()

    def names(self, path: str, key: str = "name") -> list[Any]:
        answer = self.get(path)
        assert answer.status_code == 200, answer.content
        return [item[key] for item in answer.json()["items"]]


def refusal(answer: Any) -> tuple[int, str, str]:
    """Status, code, and where the first fault is."""
    body = answer.json()
    assert answer["Content-Type"] == "application/problem+json"
    errors = body["errors"]
    return answer.status_code, body["code"], errors[0]["pointer"] if errors else ""
