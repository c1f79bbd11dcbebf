"""What every refusal looks like."""

from typing import Any

import httpx

PROBLEM = "application/problem+json"


def refusal(answer: httpx.Response, *statuses: int) -> Any:
    """The problem, which names a code, a request and at least one place."""
    assert answer.status_code in (statuses or (400,)), answer.text
    assert answer.headers["Content-Type"] == PROBLEM
    problem = answer.json()
    assert problem["code"]
    assert problem["request_id"] == answer.headers["X-Request-ID"]
    assert all(error["code"] and "pointer" in error for error in problem["errors"])
    assert problem["errors"], answer.text
    return problem
