"""One service with a busy day behind it, one browser, and a reader of what browsers complain of."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.utils import timezone

from clusters.models import Node
from energy.models import PowerBudget
from jobs import nudge
from jobs.models import Job, LogChunk
from lab.screenshots.browser import CHROMIUM, browser, session_of, signed_in
from lab.screenshots.server import server
from lab.screenshots.story.story import Story, tell
from tenancy import throttles
from tenancy.models import Tenant
from tests.console.conftest import HOSTILE
from whatif import budget_response, dispatch

HERE = Path(__file__).parent
NPM_S = 120


@pytest.fixture(scope="package")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The source of axe-core, installed as the lock says."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs npm on the path")
    there = tmp_path_factory.mktemp("axe")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, there)
    words = (npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    done = subprocess.run(words, cwd=there, capture_output=True, timeout=NPM_S, check=False)
    if done.returncode:
        pytest.skip("needs a package index for npm, or its cache")
    return (there / "node_modules" / "axe-core" / "axe.min.js").read_text()


@dataclass
class Complaints:
    """What a browser said against its pages, and whom it asked."""

    errors: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def listen(self, page: Any) -> None:
        # Violations of the content policy are errors of the browser's console, too.
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error"
                else None)  # fmt: skip
        page.on("dialog", lambda dialog: self.errors.append(dialog.message))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda asked: self.hosts.add(urlsplit(asked.url).netloc))


@dataclass(frozen=True)
class Site:
    story: Story
    address: str
    opened: Any
    sessions: dict[str, str]

    @contextmanager
    def page(self, person: str = "maria", **options: Any) -> Iterator[Any]:
        """Of somebody who is signed in; nothing may be complained of, nobody else asked."""
        context = signed_in(self.opened, self.address, self.sessions[person], **options)
        heard = Complaints()
        page = context.new_page()
        heard.listen(page)
        try:
            yield page
        finally:
            context.close()
        assert heard.errors == []
        assert heard.hosts - {""} <= {urlsplit(self.address).netloc}


def _make_hostile(story: Story) -> None:
    """Words that want to be markup, among the others of every page that is walked."""
    Tenant.objects.filter(name="ranking").update(display_name=HOSTILE)
    Job.objects.filter(pk=story.running.pk).update(labels={"project": HOSTILE})
    Job.objects.filter(name="click-model").update(name=HOSTILE)
    Node.objects.filter(state="lost").update(state_reason=HOSTILE)
    LogChunk.objects.update(data=HOSTILE.encode())
    PowerBudget.objects.update(reason=HOSTILE)


@pytest.fixture(scope="package")
def site(django_db_setup: None, django_db_blocker: Any) -> Iterator[Site]:
    pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if not CHROMIUM.exists():
        pytest.skip("needs chromium")
    with pytest.MonkeyPatch.context() as patch, django_db_blocker.unblock():
        patch.setattr(settings, "CACHE_URL", "local:")
        throttles.budgets.cache_clear()
        patch.setattr(nudge, "_send", lambda cluster_id: None)
        patch.setattr(dispatch, "send", lambda task, ids: None)
        # What a budget would do is a test of whatif/; here it may be answered in part.
        patch.setattr(budget_response, "BUDGET_S", 0.2)
        story = tell(now=timezone.now(), every=timedelta(minutes=30), forecast=False)
        _make_hostile(story)
        people = (story.operator, story.member)
        sessions = {person.get_username(): session_of(person) for person in people}
        # The driver has an event loop of its own, beside which Django would ask nothing.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        try:
            with server() as address, browser() as opened:
                yield Site(story, address, opened, sessions)
                # Beside the driver's loop tests had a connection of their own.
                connections.close_all()
        finally:
            call_command("flush", verbosity=0, interactive=False, inhibit_post_migrate=True)
