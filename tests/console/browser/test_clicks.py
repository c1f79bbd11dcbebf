"""As a new operator would: from the first page to an answer or a deed in three clicks at most."""

from typing import Any

import pytest
from django.urls import reverse

from clusters.models import Cluster
from energy.models import PowerBudget
from tests.console.browser.conftest import Site

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.django_db]
MOST = 3


class Hand:
    """Clicks, and counts them; typing into a field that has the keyboard is none."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.clicks = 0
        page.goto(reverse("console:home"))

    def click(self, role: str, name: str) -> None:
        self.clicks += 1
        with self.page.expect_navigation():
            self.page.get_by_role(role, name=name).first.click()

    def seen(self) -> str:
        return str(self.page.locator("main").inner_text())


def test_which_job_costs_most_today(site: Site) -> None:
    with site.page() as page:
        hand = Hand(page)
        first = page.locator("section:has(#dearest) li").first.inner_text()
        assert site.story.dearest.name in first
        assert hand.clicks == 0


def test_why_a_job_waits(site: Site) -> None:
    with site.page() as page:
        hand = Hand(page)
        hand.click("link", "waiting")
        row = page.locator("tr", has=page.get_by_text("fold-proteome"))
        assert "quota" in row.inner_text()
        hand.click("link", "fold-proteome")
        assert "To start it sooner" in hand.seen()
        assert hand.clicks <= MOST


def test_the_policy_is_switched(site: Site) -> None:
    with site.page() as page:
        hand = Hand(page)
        before = Cluster.objects.get(pk=site.story.cluster.pk).policy
        hand.click("link", "Change the policy")
        hand.click("link", "sjf")
        hand.click("button", "Plan with sjf")
        assert Cluster.objects.get(pk=site.story.cluster.pk).policy == "sjf" != before
        assert hand.clicks <= MOST


def test_a_power_budget_is_set_for_tonight(site: Site) -> None:
    with site.page() as page:
        hand = Hand(page)
        hand.click("link", "Set a power budget")
        page.keyboard.type("31000")
        hand.click("button", "Order it")
        row = PowerBudget.objects.latest("pk")
        assert (row.watts, row.cluster_id) == (31_000, site.story.cluster.pk)
        assert row.ends_at is not None
        assert "31.0 kW" in hand.seen()
        assert hand.clicks <= MOST
