"""`cost`: the receipt of a job, or the statement of a tenant."""

from typing import Annotated

import typer

from fairwatt.cli.ends import say
from fairwatt.cli.session import connected
from fairwatt.cli.show import Column, Json, as_json, facts, put, rows
from fairwatt.cli.units import clock, energy, moment_of, money, now
from fairwatt.structs.energy import AttemptEnergy, EnergySums, JobEnergy, StatementLine
from fairwatt.synchronous import Client

app = typer.Typer(rich_markup_mode=None)
Moment = Annotated[str | None, typer.Option(help="2026-11-01T00:00, or +0h: this moment.")]


def sums_text(sums: EnergySums) -> str:
    parts = [
        energy(sums.gpu_mj + sums.host_mj),
        money(sums.cost, sums.currency),
        f"{sums.carbon_g:.3g} g CO2" if sums.carbon_g else "",
        f"{energy(sums.unpriced_mj)} without a price" if sums.unpriced_mj else "",
    ]
    return ", ".join(part for part in parts if part)


LINES: list[Column[StatementLine]] = [
    ("JOB", lambda line: line.job_id),
    ("NAME", lambda line: line.name),
    ("CLUSTER", lambda line: line.cluster),
    ("GPUS", lambda line: energy(line.gpu_mj)),
    ("HOSTS", lambda line: energy(line.host_mj)),
    ("COST", lambda line: money(line.cost, line.currency)),
]
ATTEMPTS: list[Column[AttemptEnergy]] = [
    ("ATTEMPT", lambda each: each.number),
    ("STATE", lambda each: each.state),
    ("GPUS DREW", lambda each: energy(each.gpu_mj)),
    ("PREDICTED", lambda each: energy(each.predicted_gpu_mj) if each.predicted_gpu_mj else None),
    ("OFF BY", lambda each: _percent(each.prediction_error)),
    ("COST", lambda each: "; ".join(money(w.cost, w.currency) for w in each.windows[:3])),
]


@app.command()
def cost(
    job_id: Annotated[int | None, typer.Argument(help="Without it, the whole tenant.")] = None,
    since: Moment = None,
    until: Moment = None,
    json: Json = False,
) -> None:
    """What a job drew and cost; without a job, the tenant's statement, this month by default."""
    with connected() as client:
        if job_id is None:
            _statement(client, since, until, json)
            return
        name, receipt = client.job(job_id).name, client.cost(job_id)
    if json:
        as_json(receipt)
        return
    _receipt(name, receipt)


def _receipt(name: str, receipt: JobEnergy) -> None:
    facts(
        [
            ("job", f"{receipt.job_id}  {name}"),
            ("total", "\n".join(map(sums_text, receipt.totals)) or "nothing settled yet"),
            ("open", energy(receipt.open_mj) if receipt.open_mj else None),
        ]
    )
    if receipt.attempts:
        put()
        rows(receipt.attempts, ATTEMPTS, json=False)


def _statement(client: Client, since: str | None, until: str | None, json: bool) -> None:
    found = client.statement(
        from_at=moment_of(since, now()) if since else None,
        until_at=moment_of(until, now()) if until else None,
    )
    if json:
        as_json(found)
        return
    rows(found.lines, LINES, json=False)
    if not found.lines:
        say("Nothing is on the statement yet.")
    put()
    facts(
        [
            ("tenant", found.tenant),
            ("from", clock(found.from_at)),
            ("until", clock(found.until_at)),
            ("total", "\n".join(map(sums_text, found.totals))),
        ]
    )


def _percent(error: float | None) -> str | None:
    return None if error is None else f"{100 * error:+.0f} %"
