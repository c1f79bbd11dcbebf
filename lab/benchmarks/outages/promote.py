"""The primary killed under load and its standby promoted: what was lost, and how long it took."""

import logging
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from threading import Event, Thread
from time import monotonic, sleep

import httpx

from lab.benchmarks.figures import figure
from lab.benchmarks.harness.service import ROOT, servers
from lab.benchmarks.harness.standby import PostgresPair, primary_and_standby
from lab.benchmarks.outages.work import submit
from tests.live.server import api_server

CLIENTS = 4
BEFORE_S, AFTER_S = 10.0, 10.0
# Until whoever watches over the primary has made up its mind.
NOTICE_S = 1.0
_SEED = """
import os
import django
os.environ["DJANGO_SETTINGS_MODULE"] = "scheduler_service.settings"
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from lab.benchmarks.harness.cluster import joinable
print(joinable("moved", nodes=0).tenant_token)
"""


def measure(database_url: str, seconds: float) -> None:
    """On a pair of its own, with and without synchronous replication."""
    for synchronous in (True, False):
        with servers("", durable=False) as stand:
            home = stand.directory / "pair"
            home.mkdir()
            for directory in (stand.directory, home):
                directory.chmod(0o755)
            with primary_and_standby(home, synchronous=synchronous) as pair:
                token = _seeded(pair.url)
                with api_server(replace(stand, database_url=pair.url), workers=2) as address:
                    acknowledged = _under_load(address, token, pair)
                _report(pair, acknowledged, synchronous=synchronous)


def _seeded(url: str) -> str:
    """In a process whose Django points there."""
    made = subprocess.run([sys.executable, "-c", _SEED], cwd=ROOT, check=True,
                          env={**os.environ, "DATABASE_URL": url},
                          stdout=subprocess.PIPE)  # fmt: skip
    return made.stdout.decode().split()[-1]


def _under_load(address: str, token: str, pair: PostgresPair) -> dict[int, float]:
    """When each job was acknowledged, by its id."""
    logging.getLogger("httpx").setLevel(logging.WARNING)
    acknowledged: dict[int, float] = {}
    over = Event()

    def client(number: int) -> None:
        bearer = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=address, headers=bearer, timeout=30, trust_env=False) as http:
            count = 0
            while not over.is_set():
                count += 1
                job = submit(http, "moved", ["true"], f"moved-{number}-{count}")
                acknowledged[job] = monotonic()

    clients = [Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for each in clients:
        each.start()
    sleep(BEFORE_S)
    pair.kill_primary()
    sleep(NOTICE_S)
    pair.promote()
    sleep(AFTER_S)
    over.set()
    for each in clients:
        each.join()
    return acknowledged


def _report(pair: PostgresPair, acknowledged: dict[int, float], *, synchronous: bool) -> None:
    with pair.superuser(pair.standby_data, pair.ports[1], "fairwatt") as standby:
        kept = {row[0] for row in standby.execute("SELECT id FROM jobs_job").fetchall()}
        names = standby.execute("SELECT count(*), count(DISTINCT name) FROM jobs_job").fetchone()
    times_s = sorted(acknowledged.values())
    gap_s = max(later - earlier for earlier, later in pairwise(times_s))
    case = "promote, synchronous" if synchronous else "promote, asynchronous"
    lost = len(acknowledged.keys() - kept)
    figure("outages", case, "acknowledged", len(acknowledged), "jobs", at_least=20)
    bar = 0 if synchronous else None
    figure("outages", case, "acknowledged and lost", lost, "jobs", at_most=bar)
    doubled = int(names[0]) - int(names[1]) if names else 0  # type: ignore[call-overload]
    figure("outages", case, "doubled", doubled, "jobs", at_most=0)
    figure("outages", case, "longest time without a submit", gap_s, "s")
