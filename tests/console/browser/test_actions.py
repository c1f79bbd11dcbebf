"""Every action of the console, by its button."""

from typing import Any

import pytest
from django.urls import reverse

from clusters.models import Cluster, Node
from energy.models import PowerBudget
from jobs.models import Job
from tariffs.models import Tariff
from tests.console.browser.conftest import Site
from whatif.models import Simulation

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.django_db]


def press(page: Any, name: str) -> None:
    """A button that leads to a page, which says what was done."""
    with page.expect_navigation():
        page.get_by_role("button", name=name, exact=True).click()
    assert page.locator("[role=status]").count() >= 1, page.locator("main").inner_text()


def test_jobs(site: Site) -> None:
    job = site.story.waiting
    path = reverse("console:job", args=[job.pk])
    with site.page("ada") as page:
        page.goto(path)
        press(page, "Hold")
        assert Job.objects.get(pk=job.pk).held
        press(page, "Release")
        press(page, "Submit again")
        again = Job.objects.latest("pk")
        assert (again.name, page.url.endswith(reverse("console:job", args=[again.pk]))) == (
            job.name,
            True,
        )
        press(page, "Cancel")
        assert Job.objects.get(pk=again.pk).state == "cancelled"


def test_logs_of_another_rank(site: Site) -> None:
    with site.page("ada") as page:
        page.goto(reverse("console:job", args=[site.story.running.pk]))
        other = page.locator("#log option").nth(1).get_attribute("value")
        page.select_option("#log", other)
        page.get_by_role("button", name="Show").click()
        page.wait_for_url(f"**log={other}**")
        assert page.locator("pre").inner_text() != ""


def test_nodes(site: Site) -> None:
    node = Node.objects.filter(state="ready", gpus_in_use=0).earliest("pk")
    with site.page() as page:
        page.goto(reverse("console:node", args=[node.pk]))
        page.fill("#reason", "new fans")
        press(page, "Drain")
        assert Node.objects.get(pk=node.pk).state_reason == "new fans"
        press(page, "Resume")
        assert Node.objects.get(pk=node.pk).state == "ready"


def test_power_budgets(site: Site) -> None:
    with site.page() as page:
        page.goto(reverse("console:power", args=[site.story.cluster.pk]))
        page.fill("#watts", "30000")
        press(page, "Ask what it would do")
        assert "What 30.0 kW would do" in page.locator("main").inner_text()
        press(page, "Order it")
        row = PowerBudget.objects.latest("pk")
        assert row.watts == 30_000
        with page.expect_navigation():
            page.get_by_role("button", name="Withdraw").first.click()
        assert PowerBudget.objects.filter(pk=row.pk).count() == 0 or (
            PowerBudget.objects.get(pk=row.pk).ends_at is not None
        )


def test_rounds_are_replayed(site: Site) -> None:
    with site.page() as page:
        page.goto(reverse("console:round", args=[site.story.round.pk]))
        press(page, "Replay it")
        assert "the very same" in page.locator("[role=status]").inner_text()


def test_what_if_is_asked(site: Site) -> None:
    with site.page() as page:
        page.goto(reverse("console:what-if"))
        page.fill("#power_budget_w", "30000")
        page.fill("#add_like", "a0")
        page.fill("#add_count", "2")
        press(page, "Ask")
        asked = Simulation.objects.latest("pk").request["policies"][1]["changes"]
        assert asked["add_nodes"] == [{"like": "a0", "count": 2}]
        assert asked["power_budget_w"] == 30_000


def test_policy_parameters(site: Site) -> None:
    cluster = site.story.cluster
    with site.page() as page:
        page.goto(reverse("console:policy", args=[cluster.pk]))
        page.fill("#parameter-wait_price_per_h", "0.2")
        press(page, f"Plan with {cluster.policy}")
        found = Cluster.objects.get(pk=cluster.pk).policy_parameters
        assert found["wait_price_per_h"] == 0.2


def test_a_week_is_painted_by_drawing(site: Site) -> None:
    row = Tariff.objects.get(kind="time_of_use")
    with site.page() as page:
        page.goto(reverse("console:tariff", args=[row.pk]))
        page.fill("#brush", "0.5")
        first, last = (page.locator(f"[name=price-2-{hour}]") for hour in (8, 11))
        first.hover()
        page.mouse.down()
        last.hover()
        page.mouse.up()
        press(page, "Store the week")
    stored = [p for p in Tariff.objects.get(pk=row.pk).periods if p["price_per_kwh"] == "0.5"]
    assert [(p["weekdays"], p["from_minute"]) for p in stored[:1]] == [([2], 480)]
