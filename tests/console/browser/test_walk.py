"""Every page: no error, nothing against the content policy, no other host, no serious fault."""

from typing import Any

import pytest
from django.urls import reverse

from tests.console.browser.conftest import Site
from tests.console.browser.paths import of_member, of_operator

# Of the database only the mark is needed: rows are made once, and the server commits for itself.
pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.django_db]
PHONE = {"width": 390, "height": 844}
SCREEN = {"width": 1200, "height": 900}
GRAVE = ("serious", "critical")
# What axe says of the page as it is; in the dark only colours can differ.
AXE = """async (options) => {
  const found = await axe.run(document, { resultTypes: ["violations"], ...options });
  return found.violations.map((v) => [v.id, v.impact, v.nodes.map((n) => n.html).slice(0, 3)]);
}"""
IN_THE_DARK = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# What can be clicked but never gets the keyboard, or gets it out of order.
OUT_OF_REACH = """[...document.querySelectorAll("a, button, input, select, textarea, summary")]
  .filter((e) => e.type !== "hidden" && !e.disabled && e.tabIndex !== 0)
  .map((e) => e.outerHTML)"""


def faults(page: Any, axe: str, options: dict[str, Any]) -> list[Any]:
    page.evaluate(axe)
    return [fault for fault in page.evaluate(AXE, options) if fault[1] in GRAVE]


def look(page: Any, path: str, axe: str) -> None:
    page.set_viewport_size(SCREEN)
    page.emulate_media(color_scheme="light")
    answer = page.goto(path, wait_until="networkidle")
    assert answer.status == 200, path
    assert page.locator("main h1").count() == 1, path
    assert faults(page, axe, {}) == [], path
    assert page.evaluate(OUT_OF_REACH) == [], path
    assert page.evaluate(WIDER) == 0, path
    page.emulate_media(color_scheme="dark")
    assert faults(page, axe, IN_THE_DARK) == [], path
    page.set_viewport_size(PHONE)
    assert page.evaluate(WIDER) == 0, path


@pytest.mark.parametrize(("person", "paths"), [("maria", of_operator), ("ada", of_member)])
def test_every_page(person: str, paths: Any, site: Site, axe: str) -> None:
    with site.page(person) as page:
        for path in paths(site.story):
            look(page, path, axe)


def test_the_page_of_strangers(site: Site, axe: str) -> None:
    with site.page() as page:
        page.context.clear_cookies()
        look(page, reverse("console:sign-in"), axe)


def test_charts_are_drawn_and_say_what_they_show(site: Site) -> None:
    with site.page() as page:
        page.goto(reverse("console:site"), wait_until="networkidle")
        charts = page.locator("figure[data-chart]")
        assert page.locator("figure .uplot canvas").count() == charts.count() > 0
        for number in range(charts.count()):
            assert len(charts.nth(number).locator("[data-summary]").inner_text()) > 10


def test_parts_of_the_page_live(site: Site) -> None:
    with site.page() as page:
        page.goto(reverse("console:queue"))
        with page.expect_response("**/queue/live/**", timeout=20_000) as asked:
            # Nobody does anything.
            pass
        assert asked.value.status == 200


def test_the_keyboard_alone_suffices(site: Site) -> None:
    """Past the menu, and from the first field of a form to its answer; nothing is clicked."""
    with site.page() as page:
        page.goto(reverse("console:queue"))
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('main') !== null")
        page.goto(reverse("console:power", args=[site.story.cluster.pk]))
        page.keyboard.type("41000")
        page.keyboard.press("Enter")
        page.wait_for_selector("[role=status]")
        assert "41.0 kW" in page.locator(".wide tbody").inner_text()
