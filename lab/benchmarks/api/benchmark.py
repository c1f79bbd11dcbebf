"""What the API costs: single and bulk submits, deep pages, and how far from a bare view we are."""

import base64
import json
import subprocess
import sys
from dataclasses import asdict
from http.client import HTTPConnection
from statistics import median
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

from lab.benchmarks.api import rows
from lab.benchmarks.api.load import RequestFigures, RequestLoad
from lab.benchmarks.figures import figure
from lab.benchmarks.harness.service import servers
from scheduler_service.embedded.stack import API_WORKERS
from tests.live.server import api_server

JOBS = "/api/v1/jobs/"
JOB = {"name": "train", "argv": ["python3", "train.py"]}
CONNECTIONS = 8
ROUNDS = 5
BULK = 10_000
MANY = 1_000_000
PAGE, DEEP = 100, 5_000
TURNS, WARM_UP = 60, 5


def main(database_url: str) -> None:
    with servers(database_url) as stand:
        made = rows.build()
        with (
            api_server(stand, workers=API_WORKERS) as ours,
            api_server(
                stand,
                app="lab.benchmarks.api.bare.wsgi:application",
                interface="wsgi",
                ready="/jobs/",
                workers=API_WORKERS,
            ) as bare,
        ):
            compare(submit_load(ours, made.member), bare_load(bare, made.tenant, made.cluster))
            bulk(ours, made.member)
            rows.fill(made, MANY)
            deep = rows.job_id_at(made, (DEEP - 1) * PAGE - 1)
            for role, secret in (("tenant", made.member), ("operator", made.operator)):
                pages(ours, role, secret, deep)


class BenchmarkCaller:
    """One caller on one connection."""

    def __init__(self, url: str, secret: str) -> None:
        self.connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
        self.headers = {**bearer(secret), "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[float, Any]:
        """Milliseconds to the last byte, and the answer."""
        begun = perf_counter()
        self.connection.request(method, path, body, self.headers)
        content = self.connection.getresponse().read()
        return (perf_counter() - begun) * 1000, json.loads(content)


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def submit_load(url: str, secret: str) -> RequestLoad:
    body = {**JOB, "cluster": "demo"}
    return RequestLoad(url, "POST", JOBS, bearer(secret), body, CONNECTIONS)


def bare_load(url: str, tenant: int, cluster: int) -> RequestLoad:
    body = {
        **JOB,
        "tenant_id": tenant,
        "cluster_id": cluster,
        "submitted_at": "2026-01-31T08:00:00Z",
    }
    return RequestLoad(url, "POST", "/jobs/", {}, body, CONNECTIONS)


def compare(ours: RequestLoad, bare: RequestLoad) -> None:
    """Turn about, so that both see the same disk and the same neighbours."""
    for load in (ours, bare):
        measured(load)
    results = [(measured(ours), measured(bare)) for _ in range(ROUNDS)]
    case = f"{CONNECTIONS} connections"
    for metric, unit in (("per_s", "submits/s"), ("p50_ms", "ms"), ("p99_ms", "ms")):
        for name, side in (("single submit", 0), ("bare view", 1)):
            value = median(getattr(pair[side], metric) for pair in results)
            figure("api", f"{name}, {case}", metric, value, unit)
    ratio = median(mine.per_s / other.per_s for mine, other in results)
    figure("api", f"single submit / bare view, {case}", "ratio", ratio, "x", at_least=0.6)


def measured(load: RequestLoad) -> RequestFigures:
    """From another process, so that the client's work is not ours."""
    done = subprocess.run(
        [sys.executable, "-m", "lab.benchmarks.api.load"],
        input=json.dumps(asdict(load)).encode(),
        stdout=subprocess.PIPE,
        check=True,
    )
    result = RequestFigures(**json.loads(done.stdout))
    if set(result.answers) != {"201"}:
        raise RuntimeError(f"{load.method} {load.path} was answered {result.answers}")
    return result


def bulk(url: str, secret: str) -> None:
    body = json.dumps({"jobs": [{**JOB, "cluster": "demo"}] * BULK}).encode()
    rates = []
    client = BenchmarkCaller(url, secret)
    for _ in range(ROUNDS):
        took_ms, answer = client.ask("POST", f"{JOBS}bulk/", body)
        rates.append(BULK / took_ms * 1000)
        if answer.get("stored") != BULK:
            raise RuntimeError(str(answer)[:500])
    figure("api", f"bulk submit of {BULK}", "per_s", median(rates), "jobs/s")


def pages(url: str, role: str, secret: str, deep: int) -> None:
    """The first page and a deep one, turn about."""
    first = f"{JOBS}?limit={PAGE}"
    addresses = {1: first, DEEP: f"{first}&cursor={cursor_after(deep)}"}
    laps: dict[int, list[float]] = {number: [] for number in addresses}
    client = BenchmarkCaller(url, secret)
    for turn in range(TURNS):
        for number, address in addresses.items():
            took_ms, answer = client.ask("GET", address)
            if turn >= WARM_UP:
                laps[number].append(took_ms)
    ids = [job["id"] for job in answer["items"]]
    if len(ids) != PAGE or ids[0] >= deep:
        raise RuntimeError("the deep page is not where it should be")
    case = f"{PAGE} of {MANY} jobs as {role}"
    for number, taken in laps.items():
        figure("api", f"{case}, page {number}", "list_ms", median(taken), "ms")
    ratio = median(laps[DEEP]) / median(laps[1])
    figure("api", f"{case}, page {DEEP} / page 1", "ratio", ratio, "x", at_most=1.5)


def cursor_after(job_id: int) -> str:
    """What `next` is when a page of the default ordering ends with this job."""
    return base64.urlsafe_b64encode(json.dumps(["-id", job_id]).encode()).decode().rstrip("=")
