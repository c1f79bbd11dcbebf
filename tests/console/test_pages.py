"""Every page for every kind of person."""

import pytest
from django.test import Client
from django.urls import reverse

from console.middleware import POLICY
from tests.console.conftest import Work
from tests.jobs.conftest import World

# Address, whose id it takes, and whether members may see it too.
Page = tuple[str, str | None, bool]
PAGES: list[Page] = [
    ("site", None, False),
    ("site-live", None, False),
    ("rack", "rack", False),
    ("power-curve", "cluster", False),
    ("price-curve", "cluster", True),
    ("policy", "cluster", False),
    ("power", "cluster", False),
    ("node", "node", False),
    ("node-live", "node", False),
    ("queue", None, True),
    ("queue-live", None, True),
    ("jobs", None, True),
    ("job", "waiting", True),
    ("job", "running", True),
    ("job-live", "running", True),
    ("gpus-curve", "running", True),
    ("log-tail", "log", True),
    ("rounds", None, False),
    ("round", "round", False),
    ("money", None, True),
    ("tariffs", None, False),
    ("tenants", None, False),
    ("tenant", "tenant", True),
    ("what-if", None, False),
]
OWNED = [name for name, owner, _ in PAGES if owner in {"waiting", "running", "log", "tenant"}]


def address(name: str, whose: str | None, work: Work, world: World) -> str:
    ids: dict[str | None, list[int | None]] = {
        None: [],
        "rack": [world.cluster.pk, work.node.rack_id],
        "cluster": [world.cluster.pk],
        "node": [work.node.pk],
        "waiting": [work.waiting.pk],
        "running": [work.held.job_id],
        "log": [work.held.job_id, work.log.pk],
        "round": [work.round.pk],
        "tenant": [world.ours.pk],
    }
    return reverse(f"console:{name}", args=ids[whose])


@pytest.mark.parametrize("page", PAGES)
def test_who_sees_a_page(page: Page, staff: Client, ours: Client, work: Work, world: World) -> None:
    name, whose, members = page
    path = address(name, whose, work, world)
    answer = staff.get(path)
    assert answer.status_code == 200, answer.content
    assert answer["Content-Security-Policy"] == POLICY
    assert ours.get(path).status_code == (200 if members else 403)
    nobody = Client().get(path)
    assert nobody.status_code == 302
    assert nobody["Location"].startswith(reverse("console:sign-in"))


@pytest.mark.parametrize(
    ("name", "whose"), [(name, whose) for name, whose, _ in PAGES if name in OWNED and whose]
)
def test_another_tenants_rows_are_not_there(
    name: str, whose: str, theirs: Client, work: Work, world: World
) -> None:
    if whose in {"waiting", "running", "log", "tenant"}:
        assert theirs.get(address(name, whose, work, world)).status_code == 404


def test_lists_show_the_own_tenants_rows_alone(
    ours: Client, theirs: Client, work: Work, world: World
) -> None:
    for name in ("queue", "jobs", "money"):
        link = reverse("console:job", args=[work.waiting.pk])
        assert link.encode() not in theirs.get(reverse(f"console:{name}")).content
    assert (
        reverse("console:job", args=[work.waiting.pk]).encode()
        in ours.get(reverse("console:queue")).content
    )
    other = {"tenant": world.ours.pk}
    assert theirs.get(reverse("console:money"), other).status_code == 404
    assert b"/console/jobs/" in ours.get(reverse("console:jobs"), other).content
    shown = theirs.get(reverse("console:jobs"), other).content
    assert reverse("console:job", args=[work.waiting.pk]).encode() not in shown


def test_an_unknown_page_is_a_page(staff: Client) -> None:
    answer = staff.get("/console/no/such/")
    assert answer.status_code == 404
    assert b"Not found" in answer.content


def test_the_index_names_the_console(client: Client) -> None:
    assert client.get("/").json()["links"]["console"] == "/console/"
