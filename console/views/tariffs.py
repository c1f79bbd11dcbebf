"""Tariffs: a week that is painted, one price, or hours from a file."""

from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone

from console import week
from console.pages import acts, reads, show
from rest.problems import Invalid, Problem
from tariffs import selectors
from tariffs.models import Tariff
from tariffs.services.hours import Mode, tariff_import
from tariffs.services.tariffs import tariff_create, tariff_update
from tenancy.callers import Caller

SHOWN = 200
FILE_MOST = 8_000_000
WEEK = Tariff.Kind.TIME_OF_USE


@reads("tariffs.write")
def tariffs(request: HttpRequest, caller: Caller) -> HttpResponse:
    rows = selectors.tariffs().order_by("name")[:SHOWN]
    return show(request, caller, "tariffs.html", {"tariffs": rows, "kinds": Tariff.Kind.values})


@reads("tariffs.write")
def tariff(request: HttpRequest, caller: Caller, tariff_id: int) -> HttpResponse:
    return show(request, caller, "tariff.html", _page(_tariff(tariff_id)))


def _page(row: Tariff) -> dict[str, Any]:
    grid = week.week_of(row.periods) if row.kind == WEEK else None
    prices = sorted({price for day in grid or [] for price in day if price}, key=float)
    return {
        "tariff": row,
        "days": None if grid is None else week.cells(grid),
        "hours": week.HOURS,
        "prices": prices,
    }


@acts("tariffs.write")
def make(request: HttpRequest, caller: Caller) -> HttpResponse:
    """A tariff of a week begins with one price for all of it."""
    kind, price = request.POST.get("kind", ""), request.POST.get("price", "0.2").strip()
    everywhere = {week.key(day, hour): price for day in range(7) for hour in week.HOURS}
    values: dict[str, Any] = {
        "name": request.POST.get("name", "").strip(),
        "kind": kind,
        "timezone": request.POST.get("timezone", "").strip() or "UTC",
    }
    if kind == WEEK:
        values["periods"] = week.periods_of(everywhere)
    elif kind == Tariff.Kind.FLAT:
        values["price_per_kwh"] = week.periods_of(everywhere)[0]["price_per_kwh"]
    row = tariff_create(caller, values)
    return HttpResponseRedirect(reverse("console:tariff", args=[row.pk]))


@acts("tariffs.write", whole=False)
def paint(request: HttpRequest, caller: Caller, tariff_id: int) -> HttpResponse:
    row = _tariff(tariff_id)
    try:
        changes = {"periods": week.periods_of(request.POST.dict())}
        with transaction.atomic():
            tariff_update(caller, row, changes, timezone.now())
    except Problem as problem:
        context = {**_page(_tariff(tariff_id)), "problem": problem}
        return show(request, caller, "tariff.html", context, problem.status_code)
    return _back(request, row, "The week is stored; the next round plans with it.")


@acts("tariffs.write", whole=False)
def upload(request: HttpRequest, caller: Caller, tariff_id: int) -> HttpResponse:
    row = _tariff(tariff_id)
    mode = Mode.REPLACE if request.POST.get("mode") == Mode.REPLACE else Mode.EXTEND
    try:
        text = _text(request.FILES.get("csv"))
        with transaction.atomic():
            found = tariff_import(
                caller=caller,
                tariff=row,
                csv=text,
                mode=mode,
                now=timezone.now(),
                value_column=request.POST.get("column", "").strip() or None,
            )
    except Problem as problem:
        context = {**_page(row), "problem": problem}
        return show(request, caller, "tariff.html", context, problem.status_code)
    return _back(request, row, f"{found.hours} hours are stored.")


def _text(sent: "UploadedFile[Any] | None") -> str:
    if sent is None or not sent.size or sent.size > FILE_MOST:
        raise Invalid.at("/csv", "invalid", f"Choose a file of 1 to {FILE_MOST} bytes.")
    try:
        return bytes(sent.read()).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid.at("/csv", "invalid", "The file is not text in UTF-8.") from None


def _tariff(tariff_id: int) -> Tariff:
    return get_object_or_404(selectors.tariffs(), pk=tariff_id)


def _back(request: HttpRequest, row: Tariff, said: str) -> HttpResponse:
    messages.success(request, said)
    return HttpResponseRedirect(reverse("console:tariff", args=[row.pk]))
