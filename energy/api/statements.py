"""Energy and money over HTTP: of a job, a tenant's statement, a node's balance."""

import csv
import io
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from msgspec.structs import asdict
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from clusters.models import Cluster, Node
from energy.api import structs
from energy.ledger.balance import node_balance
from energy.ledger.job_energy import job_energy
from energy.ledger.reprice import reprice
from energy.ledger.statement import lines, rows_between, statement
from jobs import selectors
from jobs.api.filters import LIMIT
from rest.filters import InstantFilter, IntegerFilter
from rest.json import JSONRenderer
from rest.problems import Invalid, NotFound
from rest.schema import AutoSchema
from rest.structs import given, show
from rest.views import Answer, JSONView, respond
from tenancy import audit
from tenancy.models import Tenant
from tenancy.selectors import tenants

CSV = "text/csv"
# Longer corrections are made in pieces, each of which is kept.
REPRICE_MOST = timedelta(days=31)
COLUMNS = ("job_id", "name", "cluster", "gpu_mj", "host_mj", "unpriced_mj", "cost", "currency",
            "carbon_g", "kwh", "cost_rounded")  # fmt: skip
CSV_EXAMPLE = (
    "job_id,name,cluster,gpu_mj,host_mj,unpriced_mj,cost,currency,carbon_g,kwh,"
    "cost_rounded\r\n"
    "4711,train-resnet,demo,1440000000,360000000,0,0.174000000000,EUR,228.000000000000,"
    "0.500,0.1740\r\n"
)
# A spreadsheet would take such a text for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class JobEnergyView(JSONView):
    """What a job drew, what it costs, and what was expected when it was placed."""

    resource = "job_energy"
    rights = {"get": "job_energy.read"}
    output = structs.JobEnergyOut

    def get(self, request: Request, job_id: str) -> HttpResponse:
        job = selectors.jobs(self.caller).filter(pk=int(job_id)).first()
        if job is None:
            raise NotFound
        return respond(Answer(show(structs.JobEnergyOut, job_energy(self.caller, job))))


class CsvRenderer(BaseRenderer):
    """Only takes part in negotiation; the view writes the text."""

    media_type = CSV
    format = "csv"


class StatementSchema(AutoSchema):
    """Adds the CSV to what is answered."""

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        responses = super()._get_response_bodies(direction)
        content = responses["200"]["content"]
        content[CSV] = {"schema": {"type": "string"}, "example": CSV_EXAMPLE}
        return responses


class StatementView(JSONView):
    """What a tenant owes, job by job. Ask for `text/csv` to have all lines in one table."""

    resource = "statements"
    rights = {"get": "statements.read"}
    output = structs.StatementOut
    query_parameters = {
        "get": {
            "from": InstantFilter(help_text="Windows that begin then or later; this month."),
            "to": InstantFilter(help_text="Windows that begin earlier than this; now."),
            "limit": LIMIT,
            "cursor": IntegerFilter(),
        }
    }
    renderer_classes = (JSONRenderer, CsvRenderer)
    schema = StatementSchema()

    def get(self, request: Request, tenant_id: str) -> HttpResponse:
        asked = self.query()
        from_at, until_at = span_of(asked, timezone.now())
        tenant = tenants(self.caller).filter(pk=int(tenant_id)).first()
        if tenant is None:
            raise NotFound
        if isinstance(request.accepted_renderer, CsvRenderer):
            return self._csv(tenant, from_at, until_at)
        found = statement(
            self.caller,
            tenant,
            from_at=from_at,
            until_at=until_at,
            after=asked.get("cursor", 0),
            limit=asked.get("limit", LIMIT.default),
        )
        return respond(Answer(show(structs.StatementOut, found)))

    def _csv(self, tenant: Tenant, from_at: datetime, until_at: datetime) -> HttpResponse:
        rows = lines(rows_between(self.caller, tenant, from_at, until_at))
        shown = (asdict(show(structs.StatementLineOut, row)) for row in rows.iterator())
        name = f"{tenant.name}-{from_at:%Y%m%d}-{until_at:%Y%m%d}.csv"
        return HttpResponse(
            csv_text(shown),
            content_type=f"{CSV}; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )


def csv_text(shown: Iterable[dict[str, Any]]) -> str:
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(COLUMNS)
    for row in shown:
        name = str(row["name"])
        safe = {**row, "name": f"'{name}" if name.startswith(_FORMULA) else name}
        table.writerow([safe[column] for column in COLUMNS])
    return text.getvalue()


def span_of(asked: dict[str, Any], now: datetime) -> tuple[datetime, datetime]:
    month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    from_at, until_at = asked.get("from", month), asked.get("to", now)
    if from_at > until_at:
        raise Invalid.at("?from", "ends_before_start", "A span ends after it begins.")
    return from_at, until_at


class NodeEnergyView(JSONView):
    """Whether a node's meters add up: what attempts drew, idle and gaps are the counters."""

    resource = "node_energy"
    rights = {"get": "node_energy.read"}
    output = structs.NodeEnergyOut

    def get(self, request: Request, node_id: str) -> HttpResponse:
        node = Node.objects.filter(pk=int(node_id)).first()
        if node is None:
            raise NotFound
        return respond(Answer(show(structs.NodeEnergyOut, node, gpus=node_balance(node))))


class RepriceView(JSONView):
    """Correct the ledger after a tariff, PUE or carbon series was corrected. Rows are added."""

    resource = "reprice"
    rights = {"post": "ledger.write"}
    output = structs.RepricedOut
    inputs = {"post": structs.RepriceIn}

    def post(self, request: Request, cluster_id: str) -> HttpResponse:
        span = given(self.input())
        cluster = Cluster.objects.select_related("tariff").filter(pk=int(cluster_id)).first()
        if cluster is None:
            raise NotFound
        if not span["from_at"] <= span["until_at"] <= span["from_at"] + REPRICE_MOST:
            raise Invalid.at("/until_at", "out_of_range", "At most 31 days after from_at.")

        def effect() -> Answer:
            written = reprice(cluster, now=timezone.now(), **span)
            audit.record(self.caller, "ledger.reprice", cluster, {**span, "rows": written})
            return Answer(structs.RepricedOut(written))

        return self.write(effect)
