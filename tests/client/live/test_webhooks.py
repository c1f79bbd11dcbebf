"""`fairwatt webhook`, and what a receiver makes of what the service sends it."""

import json
import os
from collections.abc import Iterator

import fairwatt
import pytest

from tests.client.live.conftest import Cli
from tests.client.live.receiver import Heard, receiver
from tests.scheduler_service.embedded.processes import eventually

pytestmark = pytest.mark.process


@pytest.fixture
def heard() -> Iterator[Heard]:
    with receiver() as listening:
        yield listening


def test_from_a_webhook_to_a_message_that_is_verified_and_told_again(
    cli: Cli, heard: Heard
) -> None:
    made = json.loads(cli("webhook", "add", heard.url, "-e", "job.cancelled", "--json").out)
    number, label = str(made["id"]), f"of=hook-{os.getpid()}"
    assert heard.url in cli("webhook", "ls").out
    job = json.loads(cli("submit", "--hold", "--json", "-l", label, "--", "true").out)["id"]
    assert cli("cancel", str(job)).code == 0
    eventually(lambda: bool(heard.messages), "the receiver was told", 60)
    headers, body = heard.messages[0]
    message = fairwatt.verify_webhook(made["secret"], headers, body)
    assert (message.type, message.data.job_id) == ("job.cancelled", job)

    def delivered() -> list[dict[str, object]]:
        listed = cli("webhook", "deliveries", number, "-s", "delivered", "--json").out
        return [json.loads(line) for line in listed.splitlines()]

    eventually(lambda: bool(delivered()), "it is known to be delivered", 60)
    (delivery,) = delivered()
    rotated = json.loads(cli("webhook", "rotate", number, "--overlap", "1h", "--json").out)
    assert "pending" in cli("webhook", "resend", str(delivery["id"])).out
    eventually(lambda: len(heard.messages) > 1, "it was told again", 60)
    again = heard.messages[1]
    for secret in (made["secret"], rotated["secret"]):
        assert fairwatt.verify_webhook(secret, *again).id == message.id
    assert "enabled" in cli("webhook", "enable", number).out
    assert "deleted" in cli("webhook", "rm", number).out
    gone = cli("webhook", "rm", number)
    assert (gone.code, "There is no such" in gone.err) == (5, True)


def test_the_secret_is_shown_to_people_once(cli: Cli, heard: Heard) -> None:
    added = cli("webhook", "add", heard.url)
    assert "secret   whsec_" in added.out
    taken = cli("webhook", "add", heard.url)
    assert (taken.code, "fairwatt webhook ls" in taken.err) == (1, True)
    listed = cli("webhook", "ls", "--json").out.splitlines()
    (number,) = (str(each["id"]) for each in map(json.loads, listed) if each["url"] == heard.url)
    assert "whsec_" not in cli("webhook", "ls").out
    assert "Nothing was told" in cli("webhook", "deliveries", number).err
    assert json.loads(cli("webhook", "rm", number, "--json").out)["deleted"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("add", "http://10.0.0.1/x"), 1, "WEBHOOK_NETWORKS"),
        (("add", "nowhere"), 1, "url"),
        (("add", "https://ci.example.org/x", "-e", "job.done"), 1, "events"),
        (("resend", "999999999"), 5, "There is no such"),
        (("deliveries", "-s", "lost"), 1, "pending"),
    ],
)
def test_wrong_words(words: tuple[str, ...], code: int, said: str, cli: Cli) -> None:
    found = cli("webhook", *words)
    assert (found.code, said in found.err) == (code, True), found.err
