"""Names, labels, logs, tenants and reasons that want to be markup are words on every page."""

from html.parser import HTMLParser

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from clusters.models import Gpu
from energy.models import PowerBudget
from jobs.models import Attempt, JobEvent
from scheduler_service.factories import NOW
from scheduling.models import Round
from tenancy.models import Tenant
from tests.console.conftest import HOSTILE, Work, signed_in
from tests.console.test_pages import PAGES, Page, address
from tests.jobs.conftest import World
from whatif.models import Simulation

# Where at least one of the hostile words must be seen, or the test would show nothing.
SHOWS = {"site", "node", "rack", "queue", "jobs", "job", "round", "rounds", "tenant", "tenants"}
SHOWS |= {"power", "what-if", "money", "site-live", "node-live", "queue-live", "job-live"}
# Elements that no page has, and scripts only from files.
NEVER = {"img", "iframe", "object", "embed", "style", "svg", "base"}


class Reader(HTMLParser):
    """What a browser would make of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.raw: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        active = [name for name in named if name.startswith("on") or name == "style"]
        link = (named.get("href") or named.get("action") or "").strip().lower()
        if tag in NEVER or active or link.startswith(("javascript:", "data:text")):
            self.raw.append(f"<{tag} {attrs}>")
        if tag == "script" and not (named.get("src") or "").startswith("/static/console/"):
            self.raw.append("<script>")
        self.words += [value for value in named.values() if value]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture
def hostile(work: Work, world: World) -> Work:
    """The same words wherever people or programs write freely."""
    Tenant.objects.filter(pk=world.theirs.pk).update(display_name=HOSTILE)
    Gpu.objects.filter(node=work.node).update(healthy=False, health_reason=HOSTILE)
    Attempt.objects.filter(pk=work.held.pk).update(detail=HOSTILE, reason=HOSTILE)
    JobEvent.objects.create(
        tenant=world.ours, job_id=work.held.job_id, at=NOW, from_state="queued", to_state="placed",
        reason=HOSTILE,
    )  # fmt: skip
    Round.objects.filter(pk=work.round.pk).update(error=HOSTILE, status="failed", policy=HOSTILE)
    PowerBudget.objects.create(
        cluster=world.cluster, watts=900, starts_at=NOW, reason=HOSTILE, ordered_by=HOSTILE
    )
    Simulation.objects.create(
        cluster=world.cluster, name=HOSTILE, kind="live", request={"policies": []}, created_at=NOW
    )
    return work


@pytest.fixture
def hostile_staff(world: World) -> Client:
    client = signed_in("root")
    User.objects.filter(username="root").update(username=HOSTILE[:150])
    return client


@pytest.mark.parametrize("page", PAGES)
def test_no_page_makes_markup_of_words(
    page: Page, hostile_staff: Client, hostile: Work, world: World
) -> None:
    answer = hostile_staff.get(address(*page[:2], hostile, world))
    assert answer.status_code == 200
    if not answer["Content-Type"].startswith("text/html"):
        # A browser must not take an answer of ours for a page, whatever is in it.
        assert answer["Content-Type"] == "application/json"
        assert answer["X-Content-Type-Options"] == "nosniff"
        return
    reader = Reader()
    reader.feed(answer.content.decode())
    assert reader.raw == []
    assert page[0] not in SHOWS or any(HOSTILE[:20] in word for word in reader.words)


def test_what_was_asked_for_is_not_markup_either(
    hostile_staff: Client, hostile: Work, world: World
) -> None:
    """What a form sent comes back in the page that refuses it."""
    sent = {"cluster": "demo", "policy": HOSTILE, "watts": HOSTILE, "remove": HOSTILE}
    pages = [
        hostile_staff.post(reverse("console:ask"), sent),
        hostile_staff.post(reverse("console:order-power", args=[world.cluster.pk]), sent),
        hostile_staff.get(reverse("console:jobs"), {"state": HOSTILE, "tenant": HOSTILE}),
        hostile_staff.get(reverse("console:money"), {"month": HOSTILE, "label": HOSTILE}),
        Client().post(reverse("console:sign-in"), {"username": HOSTILE, "next": HOSTILE}),
    ]
    for answer in pages:
        reader = Reader()
        reader.feed(answer.content.decode())
        assert reader.raw == []
