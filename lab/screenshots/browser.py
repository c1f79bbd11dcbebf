"""The system's chromium, driven by Playwright, signed in by a session that was made here."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User
from django.test import Client

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--hide-scrollbars"),
]


@contextmanager
def browser() -> Iterator["Browser"]:
    # Only here: whoever wants the story alone need not have Playwright.
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        try:
            yield opened
        finally:
            opened.close()


def session_of(person: User) -> str:
    client = Client()
    client.force_login(person)
    return client.cookies["sessionid"].value


def signed_in(opened: "Browser", address: str, session: str, **options: Any) -> "BrowserContext":
    """A window of its own for the person whose session it is."""
    context = opened.new_context(base_url=address, **options)
    context.add_cookies([{"name": "sessionid", "value": session, "url": address}])
    return context
