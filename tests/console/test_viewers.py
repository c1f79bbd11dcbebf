"""Emulated viewers follow what the pages live by."""

import asyncio

import httpx
from django.test import Client
from django.urls import reverse

from lab.benchmarks.console.viewers import MeasuredPages, Viewer, live_parts
from tests.console.conftest import Work
from tests.jobs.conftest import World


def test_of_every_live_page_the_part_and_the_curves(
    staff: Client, work: Work, world: World
) -> None:
    node, job, cluster = [work.node.pk], [work.held.job_id], [world.cluster.pk]
    follows = {
        reverse("console:site"): ("console:site-live", []),
        reverse("console:queue"): ("console:queue-live", []),
        reverse("console:node", args=node): ("console:node-live", node),
        reverse("console:job", args=job): ("console:job-live", job),
    }
    curves: list[str] = []
    for page, (name, args) in follows.items():
        found = live_parts(staff.get(page).content.decode())
        ((path, every_s),) = found.parts
        assert (path.split("?")[0], every_s) == (reverse(name, args=args), 10)
        assert staff.get(path).status_code == 200
        curves += found.curves
    assert curves == [
        reverse("console:power-curve", args=cluster),
        reverse("console:price-curve", args=cluster),
        reverse("console:gpus-curve", args=job),
    ]


def test_a_viewer_counts_what_it_is_refused() -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(503))
    http = httpx.AsyncClient(transport=transport, base_url="http://service")
    measured = MeasuredPages()
    asyncio.run(Viewer(http, "/page/", measured).watch(0.0))
    assert (len(measured.page_ms), measured.part_ms, measured.not_200) == (1, [], 1)
