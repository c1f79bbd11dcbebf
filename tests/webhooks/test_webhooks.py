"""Webhooks: signed as the scheme says, kept from private addresses, sent again, and fair."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address, ip_network
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client as Browser
from django.utils import timezone

from jobs.models import Job, JobEvent
from scheduler_service.factories import hold, make_cluster, make_gpu_type, make_nodes, make_tenant
from tenancy import throttles
from tenancy.callers import SYSTEM
from tenancy.models import AuditRow
from tenancy.roles import Role
from tests.api import Api
from tests.asgi import PATIENCE_S
from tests.engines.agents.door.conftest import in_thread, with_door
from tests.jobs.test_followers import finish, place, token
from webhooks import outbox, services
from webhooks.addresses import AddressRefused, Resolver, permitted
from webhooks.models import Webhook, WebhookDelivery
from webhooks.services import NewSecret
from webhooks.signing import signature

PATH = "/api/v1/webhooks/"
HERE = [ip_network("127.0.0.0/8")]
database = pytest.mark.django_db(transaction=True)


def test_the_signature_is_the_published_one() -> None:
    """The example of the scheme's own documents."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    message = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    signed = signature(secret, message, 1614265330, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize(
    "text",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0"),
        *("100.64.0.1", "224.0.0.1", "255.255.255.255", "192.0.2.1", "240.0.0.1"),
        *("::1", "::", "fe80::1", "fc00::1", "ff02::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "64:ff9b::a00:1", "2002:7f00:1::", "2002:a9fe:a9fe::1"),
    ],
)
def test_private_addresses_are_refused(text: str) -> None:
    assert not permitted(ip_address(text), [])


@pytest.mark.parametrize("text", ["93.184.215.14", "2606:2800:220:1::1", "::ffff:8.8.8.8"])
def test_public_ones_and_those_an_operator_names_are_not(text: str) -> None:
    assert permitted(ip_address(text), [])
    assert permitted(ip_address("10.1.2.3"), [ip_network("10.0.0.0/8")])


def test_a_name_is_looked_up_once_and_its_private_addresses_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    answers = {"both.example": ["10.0.0.1", "8.8.8.8"], "inside.example": ["127.0.0.1", "::1"]}

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        return [(0, 0, 0, "", (text, port)) for text in answers[host]]

    monkeypatch.setattr("socket.getaddrinfo", look_up)
    resolver = Resolver([])
    assert asyncio.run(resolver.address("both.example", 443)) == "8.8.8.8"
    with pytest.raises(AddressRefused):
        asyncio.run(resolver.address("inside.example", 443))
    assert asked == ["both.example", "inside.example"]
    resolver.close()


class Receiver:
    """A real server on this machine; `answers` says how it answers, and `gate` makes it slow."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.status, self.gate = 204, threading.Event()
        self.gate.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.got.append(({k.lower(): v for k, v in self.headers.items()}, body))
                receiver.gate.wait(PATIENCE_S)
                self.send_response(receiver.status)
                self.send_header("location", receiver.url)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self.gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def other() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def job(settings: LazySettings) -> Job:
    settings.CACHE_URL, settings.WEBHOOK_NETWORKS = "local:webhooks", HERE
    throttles.budgets.cache_clear()
    (node,) = make_nodes(make_cluster("demo"), make_gpu_type(), 1)
    return hold(make_tenant("ours"), node).job


def hook(job: Job, url: str, **more: Any) -> NewSecret:
    values = {"tenant_id": job.tenant_id, "url": url, **more}
    return services.webhook_create(SYSTEM, values, timezone.now())


def run(act: Callable[[], Awaitable[None]]) -> None:
    async def beside_the_door(_: Any) -> None:
        await act()

    with_door(beside_the_door)


async def until(what: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await in_thread(what):
            await asyncio.sleep(0.02)


def in_state(state: str) -> Callable[[], int]:
    return lambda: WebhookDelivery.objects.filter(state=state).count()


@database
def test_an_event_is_told_signed_by_both_secrets_while_one_is_rotated(
    job: Job, receiver: Receiver
) -> None:
    made = hook(job, receiver.url, events=["job.placed"])
    rotated = services.webhook_rotate(SYSTEM, made.webhook, overlap_s=60, now=timezone.now())

    async def act() -> None:
        await in_thread(place, job)
        await in_thread(finish, job)
        await until(in_state("delivered"))

    run(act)
    ((headers, body),) = receiver.got
    told = json.loads(body)
    assert (told["type"], told["data"]["job_id"]) == ("job.placed", job.pk)
    assert told["timestamp"] == told["data"]["at"]
    number, sent_s = headers["webhook-id"], int(headers["webhook-timestamp"])
    signed = [signature(each.secret, number, sent_s, body) for each in (rotated, made)]
    assert headers["webhook-signature"].split(" ") == signed
    assert made.secret != rotated.secret


@database
def test_what_is_rolled_back_is_told_to_nobody(job: Job, receiver: Receiver) -> None:
    hook(job, receiver.url)
    with transaction.atomic():
        place(job)
        assert WebhookDelivery.objects.count() == 1
        transaction.set_rollback(True)
    assert WebhookDelivery.objects.count() == 0


@database
def test_a_redirect_is_a_failure_and_is_tried_again_later(job: Job, receiver: Receiver) -> None:
    made = hook(job, receiver.url)
    receiver.status = 307

    async def act() -> None:
        await in_thread(place, job)
        await until(lambda: WebhookDelivery.objects.get().error)

    run(act)
    row = WebhookDelivery.objects.get()
    assert (row.state, row.status, row.tries) == ("pending", 307, 1)
    assert "redirects are not followed" in row.error
    assert timedelta(seconds=3) < row.due_at - timezone.now() < timedelta(seconds=6)
    assert len(receiver.got) == 1
    failing = Webhook.objects.get(pk=made.pk)
    assert failing.enabled
    assert failing.failing_since is not None


@database
@pytest.mark.parametrize(
    ("status", "failing_days", "reason"),
    [(410, 0, "It answered 410."), (500, 6, "It failed for five days.")],
)
def test_who_is_gone_is_told_no_more(
    job: Job, receiver: Receiver, status: int, failing_days: int, reason: str
) -> None:
    made, receiver.status = hook(job, receiver.url), status
    if failing_days:
        since = timezone.now() - timedelta(days=failing_days)
        Webhook.objects.filter(pk=made.pk).update(failing_since=since, failures=9)

    # Both before the first is told: a receiver that is gone gets no more deliveries.
    place(job)
    finish(job)

    async def act() -> None:
        await until(lambda: in_state("failed")() == 2)

    run(act)
    disabled = Webhook.objects.get(pk=made.pk)
    assert (disabled.enabled, disabled.disabled_reason) == (False, reason)
    receiver.status = 204
    again = services.webhook_update(SYSTEM, disabled, {"enabled": True}, timezone.now())
    assert again.failing_since is None
    for row in WebhookDelivery.objects.all():
        services.delivery_resend(SYSTEM, row, timezone.now())

    async def sent_again() -> None:
        await until(lambda: in_state("delivered")() == 2)

    run(sent_again)
    # Under the same id, so that the receiver knows what it has seen.
    assert receiver.got[0][0]["webhook-id"] in {got[0]["webhook-id"] for got in receiver.got[1:]}


@database
def test_one_slow_receiver_harms_nobody(job: Job, receiver: Receiver, other: Receiver) -> None:
    slow, quick = hook(job, receiver.url), hook(job, other.url)
    receiver.gate.clear()
    moved = {"tenant": job.tenant, "job": job, "at": timezone.now(), "to_state": "queued"}
    JobEvent.objects.bulk_create(JobEvent(**moved, reason="x") for _ in range(20))
    of_nothing = {"tenant": job.tenant, "event_id": -1, "event": "job.queued"}
    WebhookDelivery.objects.create(webhook=quick.webhook, **of_nothing)
    assert WebhookDelivery.objects.filter(webhook=slow.pk).count() == 20

    async def act() -> None:
        sent = {"webhook_id": quick.pk, "state": "delivered"}
        await until(lambda: WebhookDelivery.objects.filter(**sent).count() == 20)
        claimed = {"webhook_id": slow.pk, "claimed_until__isnull": False}
        held = await in_thread(WebhookDelivery.objects.filter(**claimed).count)
        assert held <= outbox.AT_ONCE_PER_WEBHOOK
        receiver.gate.set()

    run(act)
    # What is told of a job that is gone is no fault of the receiver.
    assert WebhookDelivery.objects.get(event_id=-1).error == "The job is gone."
    assert Webhook.objects.get(pk=quick.pk).failing_since is None


@database
def test_a_late_answer_of_a_stale_claim_changes_nothing(job: Job, receiver: Receiver) -> None:
    made = hook(job, receiver.url)
    receiver.gate.clear()

    async def act() -> None:
        await in_thread(place, job)
        await until(lambda: receiver.got)
        # Somebody else has taken it over since.
        rows = WebhookDelivery.objects.filter(webhook=made.pk)
        await in_thread(rows.update, tries=7, due_at=timezone.now() + timedelta(days=1))
        receiver.gate.set()
        await asyncio.sleep(0)

    run(act)
    assert WebhookDelivery.objects.get().state == "pending"


@database
def test_private_addresses_are_never_connected_to(
    job: Job, receiver: Receiver, settings: LazySettings
) -> None:
    hook(job, receiver.url.replace("127.0.0.1", "localhost"))
    settings.WEBHOOK_NETWORKS = []

    async def act() -> None:
        await in_thread(place, job)
        await until(lambda: WebhookDelivery.objects.get().error)

    run(act)
    assert WebhookDelivery.objects.get().error == "localhost is at no public address."
    assert receiver.got == []


@database
def test_over_http(job: Job, settings: LazySettings) -> None:
    settings.WEBHOOK_NETWORKS = []
    admin, member = Api(token(job.tenant, Role.ADMIN)), Api(token(job.tenant))
    body = {"url": "https://ci.example.org/hook", "events": ["job.failed"]}
    made = admin.post(PATH, body, headers={"Idempotency-Key": "once"})
    assert made.status_code == 201
    assert made.json()["secret"].startswith("whsec_")
    replayed = admin.post(PATH, body, headers={"Idempotency-Key": "once"})
    assert (replayed.json()["secret"], replayed.json()["id"]) == (None, made.json()["id"])
    one = f"{PATH}{made.json()['id']}/"
    assert "secret" not in admin.get(one).json()
    assert member.get(one).status_code == 403
    new = admin.post(f"{one}rotate/", {"overlap_s": 0}).json()["secret"]
    assert new not in {None, made.json()["secret"]}
    off = admin.patch(one, {"enabled": False}, headers={"If-Match": "*"})
    assert off.json()["enabled"] is False
    audited = json.dumps(list(AuditRow.objects.values_list("changes", flat=True)))
    assert "whsec_" not in audited

    bad = {
        "http://10.0.0.1/": (422, "private_address"),
        "http://[::1]:80/x": (422, "private_address"),
        "ftp://example.org/": (400, "pattern"),
        "https://user:pass@example.org/": (400, "pattern"),
        "https://ci.example.org/hook": (409, "url_taken"),
    }
    for url, (status, code) in bad.items():
        refused = admin.post(PATH, {"url": url})
        assert (refused.status_code, refused.json()["errors"][0]["code"]) == (status, code)
        assert refused.json()["errors"][0]["pointer"] == "/url"
    assert admin.post(PATH, {**body, "events": ["job.x"]}).status_code == 400
    assert admin.delete(one, headers={"If-Match": "*"}).status_code == 204


@database
def test_old_deliveries_are_forgotten(job: Job, receiver: Receiver) -> None:
    hook(job, receiver.url)
    place(job)
    long_ago = timezone.now() - services.KEEP - timedelta(days=1)
    WebhookDelivery.objects.update(state="delivered", ended_at=long_ago)
    assert services.deliveries_forget(now=timezone.now()) == 1


@database
@pytest.mark.slow
def test_operators_stop_one_and_send_again(job: Job, receiver: Receiver) -> None:
    made = hook(job, receiver.url)
    place(job)
    WebhookDelivery.objects.update(state="failed", ended_at=timezone.now())
    browser = Browser()
    browser.force_login(User.objects.create_superuser("root", password="x"))

    def act(model: str, action: str, number: int) -> bytes:
        form = {"action": action, "_selected_action": [str(number)]}
        page = browser.post(f"/admin/webhooks/{model}/", form, follow=True)
        assert page.status_code == 200
        return page.content

    assert b"Disabled: 1" in act("webhook", "disable", made.pk)
    assert not Webhook.objects.get().enabled
    assert b"Sent again: 1" in act("webhookdelivery", "resend", WebhookDelivery.objects.get().pk)
    assert WebhookDelivery.objects.get().state == "pending"
    one = browser.get(f"/admin/webhooks/webhook/{made.pk}/change/").content.decode()
    assert made.webhook.sealed_secret not in one
    assert receiver.url in one
