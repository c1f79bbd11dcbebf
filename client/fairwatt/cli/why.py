"""`why` and `when`: one screen about a job."""

from datetime import datetime
from typing import Annotated, Any

import typer

from fairwatt.calls.forecasts import When, Why
from fairwatt.cli.cost import sums_text
from fairwatt.cli.ends import say
from fairwatt.cli.progress import working
from fairwatt.cli.session import connected
from fairwatt.cli.show import Json, as_json, bold, facts, put
from fairwatt.cli.units import ago, clock, energy, money, now
from fairwatt.structs.explanations import Explanation

app = typer.Typer(rich_markup_mode=None)
MOST_EVIDENCE = 8


@app.command()
def why(job_id: int, json: Json = False) -> None:
    """Why a job waits, runs or failed: reason, evidence, remedies, forecast, expected cost."""
    with connected() as client:
        found = client.why(job_id)
    if json:
        as_json(found)
        return
    at, job, said = now(), found.job, found.explanation
    facts(
        [
            ("job", f"{job.id}  {job.name}"),
            ("state", job.state),
            ("reason", said.reason),
            ("", said.text),
            ("last word", found.last.detail if found.last else None),
            ("place", f"{said.position} in the queue" if said.position else None),
            (
                "decided",
                f"round {said.round_id}, {ago(said.round_at, at)}" if said.round_id else "",
            ),
        ]
    )
    _evidence(said)
    _remedies(said)
    put()
    facts(_prospects(found, at))


def _evidence(said: Explanation) -> None:
    known = [(name, _plain(value)) for name, value in said.evidence.items()][:MOST_EVIDENCE]
    if known:
        put(f"\n{bold('evidence')}")
        for name, value in known:
            put(f"  {name.replace('_', ' ')}: {value}")


def _remedies(said: Explanation) -> None:
    if said.remedies:
        put(f"\n{bold('what would help')}")
        for remedy in said.remedies:
            put(f"  - {remedy.text}")


def _prospects(found: Why, at: datetime) -> list[tuple[str, object]]:
    """What it drew so far, and what is expected of it."""
    drawn = "\n".join(sums_text(each) for each in found.energy.totals)
    still = f"{energy(found.energy.open_mj)} not settled yet" if found.energy.open_mj else ""
    return [
        *_when(found, at),
        ("drawn", "\n".join(filter(None, [drawn, still]))),
        ("ended", clock(found.job.ended_at)),
    ]


def _when(found: Why, at: datetime) -> list[tuple[str, object]]:
    if found.job.ended:
        return []
    if found.when is not None:
        return foreseen(found.when, at)
    if (start := found.explanation.forecast) is not None:
        return [("starts", _interval(start.start_at, start.low_at, start.high_at, at))]
    if found.job.started_at is None:
        return [("starts", "not foreseen; `fairwatt when` asks for a new forecast")]
    return []


def foreseen(when: When, at: datetime) -> list[tuple[str, object]]:
    job = when.job
    cost = money(job.full_cost, when.forecast.currency) if job.full_cost is not None else None
    drawn = energy(int(job.full_energy_j * 1000)) if job.full_energy_j is not None else None
    starts = (job.start_at, job.start_low_at, job.start_high_at)
    return [
        ("starts", _interval(*starts, at)),
        ("ends", _interval(job.finish_at, job.finish_low_at, job.finish_high_at, at)),
        ("expected", ", ".join(filter(None, [drawn, cost])) or None),
        ("foreseen", ago(when.forecast.made_at, at)),
    ]


def _interval(
    middle: datetime | None, low: datetime | None, high: datetime | None, at: datetime
) -> str:
    if middle is None:
        return "beyond what was simulated"
    text = f"{ago(middle, at)}, {clock(middle)}"
    if low and high:
        text += f"\nfour of five times between {ago(low, at)} and {ago(high, at)}"
    return text


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


@app.command()
def when(
    job_id: int,
    fresh: Annotated[bool, typer.Option("--fresh", help="Make a new forecast first.")] = False,
    json: Json = False,
) -> None:
    """When a queued job starts and ends, with an interval, and what it is expected to cost."""
    with connected() as client:
        with working("forecasting"):
            found = client.when(job_id, fresh=fresh)
        job = client.job(job_id)
    if json:
        as_json(found)
        return
    if found is not None:
        facts([("job", f"{job.id}  {job.name}"), ("state", job.state), *foreseen(found, now())])
        return
    facts([("job", f"{job.id}  {job.name}"), ("state", job.state), ("ended", clock(job.ended_at))])
    if not job.ended:
        say(f"No forecast knows it: held, waiting for others, or too large. fairwatt why {job_id}")
