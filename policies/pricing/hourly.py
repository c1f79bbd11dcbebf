"""Hourly series from CSV text: every hour once, in order, or the problems line by line."""

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, timedelta, tzinfo
from decimal import Decimal
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np

from policies.pricing.curve import IntArray
from policies.pricing.hourly_cells import PRICE, HourlyCellError, Quantity, read_start_s, read_value
from policies.pricing.tariff import HOUR_S
from policies.pricing.timezones import EPOCH, validate_timezone
from policies.value_fault import ValueFault, pointer

TIME_COLUMNS = ("starts_at", "Datetime (UTC)")
MAX_ROWS = 100_000
PROBLEMS_SHOWN = 20

Row = tuple[int, list[str]]  # line number, cells


@dataclass(frozen=True, eq=False)
class Parsed:
    """A whole series without holes; values are per kWh, `column` is where they came from."""

    starts_s: IntArray
    values: tuple[Decimal, ...]
    column: str


@dataclass
class Findings:
    """Keeps the first problems and counts the rest, so that a bad file has a short answer."""

    problems: list[ValueFault] = field(default_factory=list)
    count: int = 0

    def add(self, code: str, at: str, message: str) -> None:
        self.count += 1
        if len(self.problems) < PROBLEMS_SHOWN:
            self.problems.append(ValueFault(code, at, message))

    def report(self) -> list[ValueFault]:
        more = self.count - len(self.problems)
        if not more:
            return self.problems
        message = f"{more} more problems; {self.count} in all."
        return [*self.problems, ValueFault("more_problems", "/csv", message)]


@dataclass(frozen=True)
class SheetLayout:
    """Where a file keeps its hours and values, and how they are to be read."""

    width: int
    time_column: str
    time_index: int
    value_column: str
    value_index: int

    @property
    def says_utc(self) -> bool:
        return "(UTC)" in self.time_column

    @property
    def per_mwh(self) -> bool:
        return "/mwh" in self.value_column.lower()


@dataclass
class HourlySeries:
    """What could be read so far: (line, start_s) of hours, and values."""

    zone: tzinfo | None
    quantity: Quantity
    rows: int = 0
    hours: list[tuple[int, int]] = field(default_factory=list)
    values: list[Decimal] = field(default_factory=list)


class UnreadableSheetError(Exception):
    """Nothing after this point of the text can be trusted."""

    def __init__(self, code: str, at: str, message: str) -> None:
        super().__init__(code, at, message)
        self.found = (code, at, message)


def parse_hourly_csv(
    text: str,
    *,
    value_column: str | None = None,
    timezone: str | None = None,
    max_rows: int = MAX_ROWS,
    quantity: Quantity = PRICE,
) -> Parsed | list[ValueFault]:
    """Times without an offset are read in timezone; per-MWh columns become per kWh."""
    if timezone is not None and (problems := validate_timezone(timezone)):
        return problems
    findings = Findings()
    try:
        rows = _rows(text)
        layout = _layout(rows, value_column, quantity)
        named_zone = None if timezone is None else ZoneInfo(timezone)
        series = HourlySeries(UTC if layout.says_utc else named_zone, quantity)
        for line, cells in rows:
            series.rows += 1
            if series.rows > max_rows:
                message = f"More than {max_rows} rows."
                raise UnreadableSheetError("too_many_rows", pointer("csv", line), message)
            _read_row(line, cells, layout, series, findings)
    except UnreadableSheetError as unreadable:
        findings.add(*unreadable.found)
        return findings.report()
    # Beside a time that could not be read, its neighbours would look like a hole.
    if len(series.hours) == series.rows:
        _check_order(series.hours, layout.time_column, findings)
    if findings.count:
        return findings.report()
    starts_s = np.array([start_s for _, start_s in series.hours], dtype=np.int64)
    return Parsed(starts_s, tuple(series.values), layout.value_column)


def _rows(text: str) -> Iterator[Row]:
    """Rows with anything in them: spreadsheets leave blank ones at the end."""
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UnreadableSheetError("nul_byte", pointer("csv", line), "The text holds a NUL byte.")
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        at = pointer("csv", reader.line_num)
        raise UnreadableSheetError("malformed_csv", at, f"Not CSV: {error}.") from None


def _layout(rows: Iterator[Row], value_column: str | None, quantity: Quantity) -> SheetLayout:
    header = next(rows, None)
    if header is None:
        raise UnreadableSheetError("empty", "/csv", "There is no header line.")
    line, cells = header
    names = [cell.strip() for cell in cells]
    time_column = _column(line, names, TIME_COLUMNS)
    wanted = quantity.columns if value_column is None else (value_column,)
    found = _column(line, names, wanted)
    return SheetLayout(len(names), time_column, names.index(time_column), found, names.index(found))


def _column(line: int, names: list[str], wanted: tuple[str, ...]) -> str:
    found = next((name for name in wanted if name in names), None)
    if found is None:
        message = f"The header has no column {' or '.join(ascii(name[:64]) for name in wanted)}."
        raise UnreadableSheetError("missing_column", pointer("csv", line, wanted[0]), message)
    if names.count(found) > 1:
        message = "The header names this column more than once."
        raise UnreadableSheetError("duplicated_column", pointer("csv", line, found), message)
    return found


def _read_row(
    line: int, cells: list[str], layout: SheetLayout, series: HourlySeries, findings: Findings
) -> None:
    if len(cells) != layout.width:
        message = f"{len(cells)} fields where the header has {layout.width}."
        findings.add("ragged_row", pointer("csv", line), message)
        return
    try:
        series.hours.append((line, read_start_s(cells[layout.time_index].strip(), series.zone)))
    except HourlyCellError as error:
        findings.add(error.code, pointer("csv", line, layout.time_column), error.message)
    try:
        text = cells[layout.value_index].strip()
        series.values.append(read_value(text, series.quantity, per_mwh=layout.per_mwh))
    except HourlyCellError as error:
        findings.add(error.code, pointer("csv", line, layout.value_column), error.message)


def _check_order(hours: list[tuple[int, int]], column: str, findings: Findings) -> None:
    if not hours:
        findings.add("empty", "/csv", "There is no hour below the header.")
    line_of: dict[int, int] = {}
    latest_s = -math.inf
    for line, start_s in hours:
        if start_s in line_of:
            message = f"{_iso(start_s)} is on line {line_of[start_s]} already."
            findings.add("duplicated_hour", pointer("csv", line, column), message)
        elif start_s < latest_s:
            message = f"{_iso(start_s)} comes after a later hour."
            findings.add("out_of_order", pointer("csv", line, column), message)
        line_of.setdefault(start_s, line)
        latest_s = max(latest_s, start_s)
    for before_s, after_s in pairwise(sorted(line_of)):
        missing = (after_s - before_s) // HOUR_S - 1
        if missing:
            first = _iso(before_s + HOUR_S)
            message = f"Missing before this hour: {missing}, the first is {first}."
            findings.add("missing_hour", pointer("csv", line_of[after_s], column), message)


def _iso(at_s: int) -> str:
    return f"{EPOCH + timedelta(seconds=at_s):%Y-%m-%dT%H:%M:%SZ}"
