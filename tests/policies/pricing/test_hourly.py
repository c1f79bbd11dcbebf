"""Hourly CSV: what is read, what is refused with its line, and that no text raises."""

import gzip
import os
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.pricing.hourly import MAX_ROWS, PROBLEMS_SHOWN, Parsed, parse_hourly_csv
from policies.pricing.hourly_cells import CARBON, PRICE, Quantity
from policies.pricing.tariff import HourlyTariff
from policies.value_fault import ValueFault
from tests.examples import examples

CHECKOUT = Path(__file__).parents[2]
DATA = Path(os.environ.get("FAIRWATT_DATA", CHECKOUT.parent / "shared" / "data"))
HEADER = "starts_at,price_per_kwh"
SPRING, AUTUMN = "2026-03-29", "2026-10-25"  # the clock changes in Berlin


def lines(*rows: str, header: str = HEADER) -> str:
    return "\n".join([header, *rows]) + "\n"


def series(count: int) -> list[str]:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return [f"{start + timedelta(hours=i):%Y-%m-%dT%H:%MZ},0.{i % 10}" for i in range(count)]


def parsed(text: str, timezone: str | None = None, value_column: str | None = None) -> Parsed:
    result = parse_hourly_csv(text, timezone=timezone, value_column=value_column)
    assert isinstance(result, Parsed), result
    return result


def problems(text: str, timezone: str | None = None, max_rows: int = MAX_ROWS) -> list[ValueFault]:
    result = parse_hourly_csv(text, timezone=timezone, max_rows=max_rows)
    assert isinstance(result, list)
    return result


def refused(
    text: str, timezone: str | None = None, max_rows: int = MAX_ROWS
) -> list[tuple[str, str]]:
    return [(problem.code, problem.pointer) for problem in problems(text, timezone, max_rows)]


def starts(result: Parsed) -> list[str]:
    return [f"{datetime.fromtimestamp(at, UTC):%d %H:%M}" for at in result.starts_s.tolist()]


def test_our_own_format() -> None:
    result = parsed(lines("2026-01-01T00:00Z,0.25", "2026-01-01T02:00:00+01:00,-0.05"))
    assert starts(result) == ["01 00:00", "01 01:00"]
    assert result.values == (Decimal("0.25"), Decimal("-0.05"))
    assert result.starts_s.dtype == np.int64
    assert result.column == "price_per_kwh"


def test_a_parsed_series_becomes_a_tariff() -> None:
    result = parsed(lines(*series(5)))
    curve = HourlyTariff(result.starts_s, result.values).curve(*map(int, result.starts_s[[0, 4]]))
    assert curve.exact_prices == tuple(Decimal(i) / 10 for i in range(4))


def test_columns_in_any_order_blank_lines_quotes_spaces_and_a_byte_order_mark() -> None:
    text = '\ufeffprice_per_kwh, note ,starts_at\r\n 1.5 ,"a,\nb",2026-01-01T00:00Z\r\n\r\n,,\r\n'
    assert parsed(text).values == (Decimal("1.5"),)


def test_prices_per_mwh_become_per_kwh_without_float_noise() -> None:
    header = "Datetime (UTC),Datetime (Local),Price (USD/MWh)"
    row = "2020-01-01 00:00:00+00:00,2020-01-01 01:00:00+01:00,43.364233600000006"
    result = parsed(lines(row, header=header))
    assert result.values == (Decimal("0.0433642336"),)
    assert result.column == "Price (USD/MWh)"


def test_a_column_that_says_utc_needs_no_offset_whatever_the_time_zone() -> None:
    text = lines(f"{SPRING} 02:00:00,10", header="Datetime (UTC),Price (USD/MWh)")
    assert starts(parsed(text, timezone="Europe/Berlin")) == ["29 02:00"]


def test_a_named_column_is_taken() -> None:
    text = lines("2026-01-01T00:00Z,1,2,3000", header="starts_at,price_per_kwh,night,EUR/MWh")
    assert parsed(text, value_column="night").values == (Decimal(2),)
    assert parsed(text, value_column="EUR/MWh").values == (Decimal(3),)


def test_carbon_is_not_taken_for_a_price() -> None:
    header = "Datetime (UTC),Carbon Intensity gCO₂eq/kWh (LCA)"
    text = lines("2021-01-01 00:00:00,1526.77", header=header)
    assert refused(text) == [("missing_column", "/csv/1/price_per_kwh")]
    result = parse_hourly_csv(text, quantity=CARBON)
    assert isinstance(result, Parsed)
    assert result.values == (Decimal("1526.77"),)


def test_local_times_across_the_skipped_hour() -> None:
    hours = [f"{SPRING}T{hour:02}:00,1" for hour in (0, 1, 3, 4)]
    result = parsed(lines(*hours), timezone="Europe/Berlin")
    assert starts(result) == ["28 23:00", "29 00:00", "29 01:00", "29 02:00"]


def test_a_local_hour_that_does_not_exist() -> None:
    hours = [f"{SPRING}T{hour:02}:00,1" for hour in (1, 2, 3)]
    (problem,) = problems(lines(*hours), timezone="Europe/Berlin")
    assert problem == ValueFault(
        "dst_jump",
        "/csv/3/starts_at",
        "2026-03-29 02:00 does not exist in Europe/Berlin; write the UTC offset.",
    )


def test_a_local_hour_that_happens_twice() -> None:
    hours = [f"{AUTUMN}T{hour:02}:00,1" for hour in (1, 2, 2, 3)]
    found = problems(lines(*hours), timezone="Europe/Berlin")
    assert [problem.pointer for problem in found] == ["/csv/3/starts_at", "/csv/4/starts_at"]
    assert {problem.code for problem in found} == {"dst_jump"}
    assert "02:00 happens twice in Europe/Berlin" in found[0].message


def test_the_same_hours_with_offsets_are_fine() -> None:
    hours = [f"{AUTUMN}T0{hour}:00+0{offset}:00,1" for hour, offset in ((2, 2), (2, 1), (3, 1))]
    assert starts(parsed(lines(*hours))) == ["25 00:00", "25 01:00", "25 02:00"]


@pytest.mark.parametrize(
    ("text", "code", "where"),
    [
        ("", "empty", "/csv"),
        (" \n\n,,\n", "empty", "/csv"),
        (HEADER, "empty", "/csv"),
        ("price_per_kwh\n1\n", "missing_column", "/csv/1/starts_at"),
        ("\nstarts_at\n2026-01-01T00:00Z\n", "missing_column", "/csv/2/price_per_kwh"),
        ("starts_at,starts_at,price_per_kwh\n", "duplicated_column", "/csv/1/starts_at"),
        ("starts_at,price_per_kwh,price_per_kwh\n", "duplicated_column", "/csv/1/price_per_kwh"),
        (lines("2026-01-01T00:00Z,1", "x\0,2"), "nul_byte", "/csv/3"),
        (lines('2026-01-01T00:00Z,"1'), "malformed_csv", "/csv/2"),
        (lines('2026-01-01T00:00Z,"1"2'), "malformed_csv", "/csv/2"),
        (lines("2026-01-01T00:00Z," + "1" * 200_000), "malformed_csv", "/csv/2"),
        (lines("2026-01-01T00:00Z"), "ragged_row", "/csv/2"),
        (lines("2026-01-01T00:00Z,0,12"), "ragged_row", "/csv/2"),
        (lines("yesterday,1"), "bad_time", "/csv/2/starts_at"),
        (lines("2026-02-30T00:00Z,1"), "bad_time", "/csv/2/starts_at"),
        (lines(",1"), "bad_time", "/csv/2/starts_at"),
        (lines("2026-01-01T00:00,1"), "naive_time", "/csv/2/starts_at"),
        (lines("0001-01-01T00:00+14:00,1"), "out_of_range", "/csv/2/starts_at"),
        (lines("9999-12-31T23:00-14:00,1"), "out_of_range", "/csv/2/starts_at"),
        (lines("2026-01-01T00:30Z,1"), "not_on_the_hour", "/csv/2/starts_at"),
        (lines("2026-01-01T00:00:00.5Z,1"), "not_on_the_hour", "/csv/2/starts_at"),
        (lines("2026-01-01T00:00+05:30,1"), "not_on_the_hour", "/csv/2/starts_at"),
        (lines("2026-01-01T00:00+01:00:00.5,1"), "not_on_the_hour", "/csv/2/starts_at"),
        *[
            (lines(f"2026-01-01T00:00Z,{word}"), "non_finite", "/csv/2/price_per_kwh")
            for word in ("nan", "-NaN", "sNaN", "NaN12", "inf", "+Infinity")
        ],
        *[
            (lines(f"2026-01-01T00:00Z,{word}"), "bad_number", "/csv/2/price_per_kwh")
            for word in ("", "-", ".", "1_000", "0x10", "٣", "1e9999", "free", "1" * 65)
        ],
        (lines("2026-01-01T00:00Z,1000.1"), "out_of_range", "/csv/2/price_per_kwh"),
        (lines("2026-01-01T00:00Z,-1e999"), "out_of_range", "/csv/2/price_per_kwh"),
    ],
)
def test_one_thing_wrong(text: str, code: str, where: str) -> None:
    assert refused(text) == [(code, where)]


def test_pointers_escape_the_column_s_name() -> None:
    text = lines("2026-01-01 00:00,x", header="Datetime (UTC),Price (USD/MWh)")
    assert refused(text) == [("bad_number", "/csv/2/Price (USD~1MWh)")]


@pytest.mark.parametrize(("value", "accepted"), [("-0.001", False), ("0", True), ("10000", True)])
def test_carbon_is_never_negative(value: str, *, accepted: bool) -> None:
    text = lines(f"2026-01-01T00:00Z,{value}", header="starts_at,g_per_kwh")
    assert isinstance(parse_hourly_csv(text, quantity=CARBON), Parsed) is accepted


def test_an_unknown_time_zone() -> None:
    assert refused(lines(*series(2)), timezone="Mars/Base") == [("unknown_timezone", "/timezone")]


def test_a_missing_hour_is_named_at_the_hour_after_it() -> None:
    hours = series(6)
    (problem,) = problems(lines(*hours[:2], *hours[4:]))
    assert problem == ValueFault(
        "missing_hour",
        "/csv/4/starts_at",
        "Missing before this hour: 2, the first is 2026-01-01T02:00:00Z.",
    )


def test_a_duplicated_hour_names_the_line_of_the_first() -> None:
    hours = series(3)
    (problem,) = problems(lines(*hours, hours[1]))
    assert (problem.code, problem.pointer) == ("duplicated_hour", "/csv/5/starts_at")
    assert problem.message == "2026-01-01T01:00:00Z is on line 3 already."


def test_hours_out_of_order_are_not_taken_for_missing() -> None:
    first, second, third = series(3)
    assert refused(lines(first, third, second)) == [("out_of_order", "/csv/4/starts_at")]


def test_no_hole_is_reported_beside_a_time_that_cannot_be_read() -> None:
    hours = series(4)
    hours[1] = "once,x"
    expected = [("bad_time", "/csv/3/starts_at"), ("bad_number", "/csv/3/price_per_kwh")]
    assert refused(lines(*hours)) == expected


def test_rows_are_bounded() -> None:
    text = lines(*series(5))
    assert refused(text, max_rows=4) == [("too_many_rows", "/csv/6")]
    assert isinstance(parse_hourly_csv(text, max_rows=5), Parsed)


def test_a_bad_file_has_a_short_answer() -> None:
    found = problems(lines(*["never,1"] * 500))
    assert len(found) == PROBLEMS_SHOWN + 1
    assert found[-1] == ValueFault("more_problems", "/csv", "480 more problems; 500 in all.")
    exactly = problems(lines(*["never,1"] * PROBLEMS_SHOWN))
    assert [problem.code for problem in exactly] == ["bad_time"] * PROBLEMS_SHOWN


cells = st.one_of(
    st.text(max_size=12),
    st.datetimes().map(str),
    st.datetimes(timezones=st.timezones()).map(datetime.isoformat),
    st.decimals().map(str),
    st.sampled_from(
        ["", '"', "\0", "\ufeff", "2026-W01-1", "1e-999", f"{AUTUMN}T02:00", *HEADER.split(",")]
    ),
)
tables = st.lists(st.lists(cells, max_size=4).map(",".join), max_size=8).map("\n".join)
texts = st.text() | tables | tables.map(lambda rest: f"{HEADER}\n{rest}")


@settings(max_examples=examples(300))
@given(
    texts,
    st.none() | st.text(max_size=5) | st.just("price_per_kwh"),
    st.sampled_from([None, "Europe/Berlin", "UTC", "\ud800"]),
    st.integers(0, 9),
    st.sampled_from([PRICE, CARBON]),
)
def test_no_text_raises(
    text: str, column: str | None, timezone: str | None, max_rows: int, quantity: Quantity
) -> None:
    result = parse_hourly_csv(
        text, value_column=column, timezone=timezone, max_rows=max_rows, quantity=quantity
    )
    if isinstance(result, Parsed):
        assert 0 < len(result.values) == len(result.starts_s) <= max_rows
        assert np.all(np.diff(result.starts_s) == 3600)
        assert all(quantity.lowest <= value <= quantity.highest for value in result.values)
    else:
        assert 0 < len(result) <= PROBLEMS_SHOWN + 1
        assert all(problem.message.isprintable() for problem in result)


@given(st.integers(1, 60), st.data())
def test_every_single_damage_to_a_series_is_found(count: int, data: st.DataObject) -> None:
    hours = series(count + 2)
    position = data.draw(st.integers(1, count))
    damage = data.draw(st.sampled_from(["missing_hour", "duplicated_hour", "out_of_order"]))
    if damage == "missing_hour":
        del hours[position]
    elif damage == "duplicated_hour":
        hours.insert(position, hours[position - 1])
    else:
        hours.append(hours.pop(position))
    assert [code for code, _ in refused(lines(*hours))] == [damage]


@pytest.mark.parametrize(
    ("folder", "quantity", "column"),
    [
        ("electricity_prices", PRICE, "Price (USD/MWh)"),
        ("carbon_intensity", CARBON, "Carbon Intensity gCO₂eq/kWh (LCA)"),
    ],
)
def test_published_series_are_read_whole(folder: str, quantity: Quantity, column: str) -> None:
    files = sorted((DATA / folder).glob("DE-LU/*2021*.csv.gz"))
    if not files:
        pytest.skip(f"{folder} is not below FAIRWATT_DATA")
    for file in files:
        result = parse_hourly_csv(gzip.decompress(file.read_bytes()).decode(), quantity=quantity)
        assert isinstance(result, Parsed)
        assert (len(result.values), result.column) == (365 * 24, column)
        assert datetime.fromtimestamp(int(result.starts_s[0]), UTC).year == 2021
