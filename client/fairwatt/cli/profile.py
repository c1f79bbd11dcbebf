"""`profile`: how kinds of jobs behave."""

from typing import Annotated

import typer

from fairwatt.cli.commands import COMMANDS
from fairwatt.cli.ends import say
from fairwatt.cli.session import connected
from fairwatt.cli.show import Column, Json, as_json, facts, put, rows
from fairwatt.structs.profiles import Point, Prediction, Profile, ProfileSpec, ProfilingSpec

app = typer.Typer(rich_markup_mode=None)
profile = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help=COMMANDS["profile"].help)
app.add_typer(profile, name="profile")

PROFILES: list[Column[Profile]] = [
    ("PROFILE", lambda each: each.name),
    ("KNOWN BY", lambda each: each.basis),
    ("POINTS", lambda each: len(each.points)),
    ("MEAN ERROR", lambda each: _percent(each.fit.mean_error) if each.fit else None),
    ("REMARK", lambda each: each.drift or each.fit_refused),
]
POINTS: list[Column[Point]] = [
    ("GPU TYPE", lambda each: each.gpu_type),
    ("GPUS", lambda each: each.gpus),
    ("STEPS/S", lambda each: f"{each.steps_per_s:g}"),
    ("MHZ", lambda each: each.clock_mhz),
    ("W PER GPU", lambda each: each.watts_per_gpu),
    ("CPUS PER GPU", lambda each: each.cpus_per_gpu),
]


@profile.command("ls")
def ls(json: Json = False) -> None:
    """Which profiles there are."""
    with connected() as client:
        if not rows(client.profiles(), PROFILES, json=json) and not json:
            say("No profiles. `fairwatt profile measure NAME -- PROGRAM` makes one.")


@profile.command("show")
def show(name: str, json: Json = False) -> None:
    """What was measured of a profile."""
    with connected() as client:
        found = client.profile_named(name)
    if json:
        as_json(found)
        return
    rows([found], PROFILES, json=False)
    put()
    rows(found.points, POINTS, json=False)


@profile.command("measure")
def measure(
    name: str,
    program: Annotated[list[str], typer.Argument(metavar="-- PROGRAM ARGS...")],
    gpu_type: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
    cluster: Annotated[str | None, typer.Option()] = None,
    json: Json = False,
) -> None:
    """Measure a profile by a short run through CPUs and clocks; it is made if it is new."""
    with connected() as client:
        known = {each.name: each for each in client.profiles()}
        found = known.get(name) or client.make_profile(ProfileSpec(name=name))
        spec = ProfilingSpec(argv=program, gpu_types=gpu_type or [], cluster=cluster or "")
        run = client.profiling_run(found.id, spec)
    if json:
        as_json(run)
        return
    put(f"profiling run {run.id}  {run.state}  as job {run.job_id}")
    say(f"Next: fairwatt why {run.job_id}   fairwatt profile show {name}")


@profile.command("predict")
def predict(name: str, gpu_type: str, gpus: int, json: Json = False) -> None:
    """How fast such a job would go, and what it would draw."""
    with connected() as client:
        found = client.predict(client.profile_named(name).id, gpu_type=gpu_type, gpus=gpus)
    if json:
        as_json(found)
        return
    facts(
        [
            ("profile", name),
            ("on", f"{found.gpus} {found.gpu_type}"),
            ("known by", found.source),
            ("speed", _speed(found)),
            ("draws", f"{found.watts_per_gpu:g} W per GPU" if found.watts_per_gpu else None),
            ("remark", "outside what was measured" if found.extrapolated else None),
        ]
    )


def _speed(found: Prediction) -> str:
    if found.steps_per_s is None:
        return "not known"
    around = f" ({found.low:g} to {found.high:g})" if found.low and found.high else ""
    return f"{found.steps_per_s:g} steps/s{around}"


def _percent(error: float | None) -> str | None:
    return None if error is None else f"{100 * error:.0f} %"
