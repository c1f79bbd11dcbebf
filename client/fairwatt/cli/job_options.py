"""Flags that describe a job, shared by `submit`, `run` and `array`."""

import inspect
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import wraps
from typing import Annotated, Any

import typer

from fairwatt.cli.units import moment_of, now, seconds_of
from fairwatt.errors import FairwattError
from fairwatt.structs.jobs import ArtifactPath, Dependency, JobSpec, Mount

Option = typer.Option


def job_flags(
    name: Annotated[str | None, Option(help="Else that of the script.")] = None,
    cluster: Annotated[str | None, Option(help="Else that of the profile.")] = None,
    partition: Annotated[str | None, Option()] = None,
    tenant: Annotated[str | None, Option(help="Whose job it is; operators only.")] = None,
    gpus: Annotated[str | None, Option(help="How many: 4, or 2-8 if it adapts.")] = None,
    gpu_type: Annotated[list[str] | None, Option(help="May be repeated: any of them.")] = None,
    cpus_per_gpu: Annotated[int | None, Option()] = None,
    memory_mib_per_gpu: Annotated[int | None, Option()] = None,
    span: Annotated[str | None, Option(help="node, rack, switch or any.")] = None,
    image: Annotated[str | None, Option(help="A container image.")] = None,
    time_limit: Annotated[str | None, Option(help="Stop it after 90s, 15m, 2h.")] = None,
    retries: Annotated[int | None, Option(help="How often it is tried again.")] = None,
    mount: Annotated[list[str] | None, Option(help="VOLUME:/TARGET, or …:rw; repeat it.")] = None,
    artifact: Annotated[list[str] | None, Option(help="NAME=PATH to keep; repeat it.")] = None,
    env: Annotated[list[str] | None, Option("--env", "-e", help="NAME=VALUE; repeat it.")] = None,
    label: Annotated[list[str] | None, Option("--label", "-l", help="NAME=VALUE.")] = None,
    priority: Annotated[int | None, Option(help="0 to 100; 100 goes first.")] = None,
    deadline: Annotated[str | None, Option(help="+2h, or 2026-11-20T08:00.")] = None,
    lateness_price: Annotated[str | None, Option(help="Money per hour past it.")] = None,
    estimate: Annotated[str | None, Option(help="How long it runs: 90s, 15m, 2h.")] = None,
    job_profile: Annotated[str | None, Option(help="How it behaves: a profile's name.")] = None,
    after: Annotated[list[int] | None, Option(help="Jobs that must succeed first.")] = None,
    hold: Annotated[bool, Option("--hold", help="Do not start it before `release`.")] = False,
) -> dict[str, Any]:
    """The fields of a JobSpec that were given."""
    fields = {
        "name": name,
        "cluster": cluster,
        "partition": partition,
        "tenant": tenant,
        **_gpus(gpus),
        "gpu_types": gpu_type,
        "cpus_per_gpu": cpus_per_gpu,
        "memory_mib_per_gpu": memory_mib_per_gpu,
        "span": span,
        "image": image,
        "time_limit_s": seconds_of(time_limit) if time_limit else None,
        "max_retries": retries,
        "mounts": [_mount(text) for text in mount or []],
        "artifacts": [
            ArtifactPath(name=name, path=path)
            for name, path in _pairs(artifact, "--artifact").items()
        ],
        "env": _pairs(env, "--env"),
        "labels": _pairs(label, "--label"),
        "priority": priority,
        "deadline_at": moment_of(deadline, now()) if deadline else None,
        "tardiness_price_per_h": _price(lateness_price),
        "estimated_run_s": seconds_of(estimate) if estimate else None,
        "profile": job_profile,
        "depends_on": [Dependency(job=job) for job in after or []],
        "held": hold,
    }
    return {key: value for key, value in fields.items() if value not in (None, [], {}, False)}


def with_job_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all of `job_flags`, and hand it what was given as `fields`."""
    own = [p for p in inspect.signature(command).parameters.values() if p.name != "fields"]
    flags = list(inspect.signature(job_flags).parameters.values())
    names = {flag.name for flag in flags}

    @wraps(command)
    def wrapped(**given: Any) -> None:
        asked = {name: value for name, value in given.items() if name in names}
        rest = {name: value for name, value in given.items() if name not in names}
        command(**rest, fields=job_flags(**asked))

    keyword = inspect.Parameter.KEYWORD_ONLY
    merged = [each.replace(kind=keyword) for each in (*own, *flags)]
    wrapped.__signature__ = inspect.Signature(merged)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {each.name: each.annotation for each in merged} | {"return": None}
    return wrapped


def spec_of(argv: list[str], fields: dict[str, Any]) -> JobSpec:
    return JobSpec(argv=argv, **fields)


def _gpus(text: str | None) -> dict[str, int]:
    if text is None:
        return {}
    low, dash, high = text.partition("-")
    if not low.isdigit() or (dash and not high.isdigit()):
        raise FairwattError(f"--gpus {text!r} is no number of GPUs.", "Write 4, or 2-8.")
    return {"min_gpus": int(low), "max_gpus": int(high)} if dash else {"gpus": int(low)}


def _pairs(items: list[str] | None, flag: str) -> dict[str, str]:
    for item in items or []:
        if "=" not in item:
            raise FairwattError(f"{flag} {item!r} has no value.", f"Write {flag} NAME=VALUE.")
    return dict(item.split("=", 1) for item in items or [])


def _mount(text: str) -> Mount:
    volume, _, rest = text.partition(":")
    target, _, mode = rest.partition(":")
    if not target.startswith("/") or mode not in ("", "ro", "rw"):
        raise FairwattError(f"--mount {text!r} is no mount.", "Write VOLUME:/TARGET, or …:rw.")
    return Mount(volume=volume, target=target, read_only=mode != "rw")


def _price(text: str | None) -> Decimal | None:
    try:
        return Decimal(text) if text else None
    except InvalidOperation as error:
        raise FairwattError(f"{text!r} is no price.", "Write a number, such as 0.05.") from error
