"""What operators watch the service by names only what there is, and leaves nothing out."""

import re
import shutil
import subprocess
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client, RequestFactory
from django.urls import resolve
from prometheus_client.parser import text_string_to_metric_families

from clusters.models import Cluster, Node
from engines.agents.telemetry_intake import INBOX_MOST
from jobs.models import Job
from scheduler_service import gauges
from scheduler_service.metrics import LATENCY, REQUESTS, metrics
from scheduling.site import LATE_INTERVALS
from tests.deploy.known import GAUGES, SERVICES, registered, routes, series
from tests.deploy.pages import (
    ASKS,
    DASHBOARD,
    METRICS_PAGE,
    RULES,
    SCRAPING,
    anchor,
    labels_of_row,
    metric_rows,
    sections,
)
from tests.deploy.promql import Matcher, names_in
from tests.scheduler_service.environment_names import ROOT

# Prometheus gives the first two to every target, the example the third.
OF_TARGETS = {"job", "instance", "process"}
FUNCTIONS = {
    "changes", "delta", "deriv", "histogram_quantile", "increase", "max", "min_over_time", "rate",
    "sum", "vector",
}  # fmt: skip
EXPRESSIONS = [(rule["alert"], rule["expr"]) for rule in RULES] + ASKS
(SCRAPED,) = SCRAPING["scrape_configs"]
TARGETS = [
    (target, group["labels"]["process"])
    for group in SCRAPED["static_configs"]
    for target in group["targets"]
]
STATES = {"fairwatt_jobs": Job.State, "fairwatt_nodes": Node.State}


def test_every_metric_has_a_row_and_every_row_a_metric() -> None:
    assert set(metric_rows()) == set(registered())


@pytest.mark.django_db
def test_a_real_scrape_shows_nothing_that_has_no_row() -> None:
    REQUESTS.labels("GET", "/rows/", 200).inc()
    LATENCY.labels("GET", "/rows/").observe(0.1)
    page = metrics(RequestFactory().get("/metrics", REMOTE_ADDR="127.0.0.1"))
    families = list(text_string_to_metric_families(page.content.decode()))
    shown = {sample.name for family in families for sample in family.samples}
    assert {"fairwatt_http_requests_total", "fairwatt_sample_inbox"} <= shown
    assert {name for name in shown - set(series()) if not name.endswith("_created")} == set()
    assert {family.name for family in gauges.REGISTRY.collect()} == set(GAUGES)


def test_only_these_modules_make_metrics() -> None:
    """Another one would have to be imported for its metrics to be compared."""
    rooms = {path.parent for path in ROOT.glob("[a-z]*/__init__.py")} - {ROOT / "tests"}
    makers = {
        str(path.relative_to(ROOT))
        for room in rooms
        for path in room.rglob("*.py")
        if re.search(r"^(from|import) prometheus_client", path.read_text(), re.MULTILINE)
    }
    assert makers == {"scheduler_service/metrics.py", "scheduler_service/gauges.py"}


@pytest.mark.parametrize("name", sorted(metric_rows()))
def test_a_row_says_meaning_unit_labels_and_when_to_worry(name: str) -> None:
    meaning, unit, labels, worry = metric_rows()[name]
    assert all(cell.strip() for cell in (meaning, unit, labels, worry))
    assert labels_of_row(name) == registered()[name]


def test_the_page_names_every_alarm_and_no_other() -> None:
    named = set(re.findall(r"`(Fairwatt\w+)`", METRICS_PAGE))
    # Prometheus asks about itself whether a target answers.
    assert named | {"FairwattDown"} == {rule["alert"] for rule in RULES}


def test_names_of_an_expression_are_told_apart() -> None:
    named = names_in(
        'sum by (a) (rate(m_total{b=~"x(y|z)", c!="}"}[5m])) / on (d) up > 0.5 and n offset 5m'
    )
    assert named.metrics == {"m_total", "up", "n"}
    assert named.functions == {"sum", "rate"}
    assert named.groups == {"a", "d"}
    matchers = [Matcher("m_total", "b", "=~", "x(y|z)"), Matcher("m_total", "c", "!=", "}")]
    assert named.matchers == matchers


@pytest.mark.parametrize(("title", "expression"), EXPRESSIONS)
def test_an_expression_uses_metrics_and_labels_that_exist(title: str, expression: str) -> None:
    named = names_in(expression)
    assert named.metrics, title
    assert named.metrics <= set(series())
    assert named.functions <= FUNCTIONS
    assert named.groups <= OF_TARGETS.union(*(series()[metric] for metric in named.metrics))
    for matcher in named.matchers:
        assert matcher.label in OF_TARGETS | series()[matcher.metric]


@pytest.mark.parametrize("path", ["/readyz", "/api/v1/agent/sync", "/api/v1/jobs/1/", "/console/"])
def test_routes_are_known_as_requests_are_counted(path: str) -> None:
    assert f"/{resolve(path).route}" in routes()


@pytest.mark.parametrize(("title", "expression"), EXPRESSIONS)
def test_a_matcher_asks_for_values_that_exist(title: str, expression: str) -> None:
    for matcher in names_in(expression).matchers:
        for wanted in _alternatives(matcher.value):
            assert any(re.fullmatch(wanted, value) for value in _values(matcher)), title


def _alternatives(value: str) -> list[str]:
    """Each must match something; a variable of the dashboard is filled in from what there is."""
    if "$" in value:
        return []
    return re.split(r"\|(?![^(]*\))", value)


def _values(matcher: Matcher) -> list[str]:
    if matcher.label == "route":
        return list(routes())
    if matcher.label == "status":
        return ["200", "429", "500", "503"]
    if matcher.label == "job":
        return [SCRAPED["job_name"]]
    if matcher.label == "state":
        return [str(state) for state in STATES[matcher.metric].values]
    return re.findall(r"'(\w*)'", GAUGES[matcher.metric].sql)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alarm_says_what_it_is_and_where_to_read_on(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"critical", "warning"}
    said = rule["annotations"]
    assert set(said) == {"summary", "description", "runbook"}
    page, _, place = said["runbook"].partition("#")
    assert (page, place) == ("docs/runbook.md", anchor(rule["alert"]))
    assert place in map(anchor, sections())
    named = names_in(rule["expr"])
    kept = OF_TARGETS if "up" in named.metrics else named.groups
    assert set(re.findall(r"\$labels\.(\w+)", " ".join(said.values()))) <= kept


def test_every_alarm_has_a_section_and_every_section_an_alarm() -> None:
    alarms = [title for title in sections() if title.startswith("Fairwatt")]
    assert alarms == [rule["alert"] for rule in RULES]


def test_thresholds_follow_the_code() -> None:
    expressions = {rule["alert"]: rule["expr"] for rule in RULES}
    usual_s = Cluster._meta.get_field("round_interval_s").get_default()
    assert f"> {INBOX_MOST // 10}" in expressions["FairwattSamplesUnread"]
    assert f"> {LATE_INTERVALS * usual_s} " in expressions["FairwattRoundsLate"]
    assert expressions["FairwattRoundsSlow"].endswith(f"> {usual_s // 2}")


@pytest.mark.process
@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
@pytest.mark.parametrize(
    "what", [("rules", "alerts.yml"), ("config", "--syntax-only", "prometheus.yml")]
)
def test_promtool_finds_no_fault(what: tuple[str, ...]) -> None:
    run = subprocess.run(
        ["promtool", "check", *what],
        cwd=ROOT / "deploy/prometheus",
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_example_scrapes_the_ports_that_compose_publishes() -> None:
    for target, process in TARGETS:
        (published,) = SERVICES[process]["ports"]
        assert target.rpartition(":")[2] == published.rpartition(":")[2]
    assert {process for _, process in TARGETS} == {"api", "door"}
    assert SCRAPING["rule_files"] == ["alerts.yml"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("host", "status"), [*((target, 200) for target, _ in TARGETS), ("api:8000", 400)]
)
def test_a_scrape_needs_the_token_and_an_allowed_host(
    settings: LazySettings, client: Client, host: str, status: int
) -> None:
    settings.METRICS_TOKEN, settings.PRODUCTION = "scrape-me", True
    settings.SECURE_SSL_REDIRECT, settings.ALLOWED_HOSTS = True, ["gpu.example.org", "localhost"]
    path, sent = SCRAPED["metrics_path"], f"{SCRAPED['authorization']['type']} scrape-me"
    assert client.get(path, HTTP_HOST=host, HTTP_AUTHORIZATION=sent).status_code == status
    assert client.get(path, HTTP_HOST="localhost").status_code == 403


def test_the_dashboard_is_whole() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)
    variables = {each["name"]: each for each in DASHBOARD["templating"]["list"]}
    assert set(re.findall(r"\$(?!__)\{?(\w+)", str(panels))) == set(variables)
    _, metric, label = re.findall(r"\w+", variables["cluster"]["query"]["query"])
    assert label in series()[metric]


@pytest.mark.parametrize("panel", DASHBOARD["panels"], ids=lambda panel: panel["title"])
def test_a_legend_shows_labels_that_its_series_has(panel: dict[str, Any]) -> None:
    for target in panel.get("targets", []):
        shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
        assert shown <= names_in(target["expr"]).groups


def test_no_panel_lies_on_another() -> None:
    places = [panel["gridPos"] for panel in DASHBOARD["panels"]]
    cells = [
        (x, y)
        for at in places
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert {at["x"] + at["w"] for at in places if at["x"] + at["w"] > 24} == set()
