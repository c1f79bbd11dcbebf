"""What pages read of their address; what cannot be is as if it were not there."""

from django.http import HttpRequest

LARGEST = 2**63 - 1


def number(request: HttpRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        return None
    return min(int(text), LARGEST)


def choice(request: HttpRequest, name: str, choices: list[str]) -> str | None:
    text = request.GET.get(name, "")
    return text if text in choices else None
