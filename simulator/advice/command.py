"""`python -m simulator advise`: reads files, writes at most the report, touches nothing else."""

import argparse
import json
import tomllib
from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

from policies import registry
from policies.contract.parameters import ParameterError
from policies.contract.policy import Policy
from simulator.advice.advise import Terms, advise, refuse_empty
from simulator.advice.faults import AdviceError
from simulator.advice.show import as_json, as_page, as_text
from simulator.advice.site import site_of
from simulator.advice.tariff import read_tariff
from simulator.advice.watts import given_watts
from simulator.progress import say, showing, tell
from simulator.report.files import plain
from simulator.traces.sacct import accounting

DEFAULT_POLICIES = ("fifo-backfill", "srtf", "powerflow", "andreas", "fairwatt")


def advise_site(given: argparse.Namespace) -> int:
    """What a site's last month would have cost under other policies, from its accounting."""
    if given.timezone not in available_timezones():
        raise AdviceError(f"--timezone {given.timezone}: expected an IANA name, as Europe/Berlin")
    read = accounting(given.sacct, given.timezone)
    refuse_empty(read)
    for line in read.report.lines():
        say(line)
    tariff = read_tariff(given.tariff, given.timezone)
    terms = Terms(
        policies={text: _policy(text) for text in given.policy or DEFAULT_POLICIES},
        timezone=given.timezone,
        currency=given.currency,
        pue=tariff.energy.pue if given.pue is None else given.pue,
        host_w=_host_w(given.host_watts),
        restart_s=given.restart_s,
        round_s=given.round_s,
    )
    site = site_of(
        read,
        nodes=given.nodes,
        gpu_type=given.gpu_type,
        given=given_watts(given.gpu_watts),
        host_w=terms.host_w,
    )
    advice = advise(read, site, tariff, terms, showing)
    tell(_json(as_json(advice)) if given.json else as_text(advice))
    if given.report:
        _write(given.report, as_page(advice))
    return 0


def _policy(text: str) -> Policy:
    """A name of the registry, or `NAME:FIELD=VALUE,FIELD=VALUE`."""
    name, _, fields = text.partition(":")
    parameters = {}
    for field in filter(None, fields.split(",")):
        key, _, value = field.partition("=")
        try:
            parameters[key] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            parameters[key] = value
    try:
        return registry.build(name, parameters)
    except ParameterError as error:
        raise AdviceError(f"--policy {text}: {error.pointer} {error.message}") from None


def _json(content: object) -> str:
    return json.dumps(plain(content), indent=1, ensure_ascii=False, allow_nan=False)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    except OSError as error:
        raise AdviceError(f"--report {path}: it can not be written ({error.strerror})") from None
    say(f"written to {path}")


def _host_w(text: str) -> tuple[float, float]:
    idle, _, peak = text.partition(":")
    try:
        idle_w, peak_w = float(idle), float(peak)
    except ValueError:
        idle_w, peak_w = 1.0, 0.0
    if not 0 <= idle_w <= peak_w < float("inf"):
        raise AdviceError(f"--host-watts {text}: expected IDLE:PEAK of a node, such as 250:800")
    return idle_w, peak_w


def _bounded(low: float, *, above: bool = False) -> Any:
    def number(text: str) -> float:
        value = float(text)
        if not (value > low if above else value >= low) or value >= 1e9:
            word = "above" if above else "of at least"
            raise argparse.ArgumentTypeError(f"expected a number {word} {low:g}")
        return value

    return number


def add_to(commands: Any) -> None:
    """As a subcommand, which argparse keeps in a class that it does not name."""
    sub = commands.add_parser("advise", help=advise_site.__doc__)
    add = sub.add_argument
    add("--sacct", type=Path, required=True, metavar="FILE", help="output of sacct --parsable2")
    add("--tariff", required=True, metavar="FILE|PRICE", help="CSV, TOML, JSON, or a flat price")
    add("--timezone", default="UTC", metavar="ZONE", help="of times without offset (default: UTC)")
    add("--nodes", action="append", default=[], metavar="COUNTxGPUS[:TYPE]")
    add("--gpu-type", default="", metavar="TYPE", help="of jobs whose accounting names none")
    add("--gpu-watts", action="append", default=[], metavar="TYPE=IDLE:MAX[:ERROR]")
    add("--host-watts", default="0:0", metavar="IDLE:PEAK", help="of a node without its GPUs")
    add("--pue", type=_bounded(1), metavar="N", help="default: the tariff file's, else 1")
    add("--policy", action="append", metavar="NAME[:FIELD=VALUE,…]", help="any number of times")
    add("--restart-s", type=_bounded(0), metavar="S", help="jobs may be stopped, for so long each")
    add("--round-s", type=_bounded(0, above=True), default=60.0, metavar="S", help="default: 60")
    add("--currency", default="", metavar="NAME")
    add("--report", type=Path, metavar="FILE", help="write the page there")
    add("--json", action="store_true", help="print JSON instead of tables")
    sub.set_defaults(command=advise_site)
