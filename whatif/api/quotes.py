"""Quotes over HTTP: the dry run of a submit."""

from decimal import Decimal
from typing import Annotated

from django.http import HttpResponse
from django.utils import timezone
from msgspec import Meta
from rest_framework.request import Request

from jobs.specs import JobSpec
from rest.structs import Instant, Output, amount, show
from rest.views import Answer, JSONView
from scheduling.api.structs import RemedyOut
from whatif.quote import STARTS_NOW, quote


class QuoteOut(Output, frozen=True):
    """What a submit of the job would come to, if the queue ran on as it is."""

    dry_run: Annotated[bool, Meta(examples=[True], description="Always: nothing was stored.")]
    starts_now: Annotated[
        bool, Meta(examples=[True], description="Whether the next round would start it.")
    ]
    reason: Annotated[str, Meta(examples=[""], description="Why it would wait; empty if not.")]
    text: Annotated[str, Meta(examples=[STARTS_NOW])]
    remedies: Annotated[list[RemedyOut], Meta(examples=[[]])]
    nodes: Annotated[
        list[str],
        Meta(examples=[["gpu-node-1"]], description="Where it would run, if it started now."),
    ]
    start_at: Instant | None
    start_low_at: Instant | None
    start_high_at: Instant | None
    finish_at: Instant | None
    finish_low_at: Instant | None
    finish_high_at: Instant | None
    kwh: Annotated[
        Decimal | None,
        amount(20, 6, example="0.500000", description="Energy that it would be billed for."),
    ]
    cost: Annotated[
        Decimal | None,
        amount(20, 6, example="0.174000", description="What its energy would cost, as billed."),
    ]
    currency: Annotated[str, Meta(examples=["EUR"])]


class QuoteView(JSONView):
    """Ask what a submit would come to, without submitting."""

    resource = "quotes"
    rights = {"post": "jobs.submit"}
    inputs = {"post": JobSpec}
    output = QuoteOut

    def post(self, request: Request) -> HttpResponse:
        """Ask whether, when, where and for how much a job would run; nothing is stored.

        The body is that of a submit, and is refused by the same rules.
        """
        found = quote(caller=self.caller, spec=self.input(), now=timezone.now())
        return self.write(lambda: Answer(show(QuoteOut, found, dry_run=True)))
