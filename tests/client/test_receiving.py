"""Receivers of webhooks: only what a known secret signed, and only what is of now."""

import fairwatt
import pytest

from tests.client.examples import run_examples
from webhooks.signing import headers, new_secret

NOW_S = 1_793_844_000
OLD, NEW, OTHER = new_secret(), new_secret(), new_secret()
BODY = (
    b'{"type":"job.failed","timestamp":"2026-11-05T10:00:00Z","data":{"id":90210,"job_id":4711,'
    b'"at":"2026-11-05T10:00:00Z","from_state":"running","to_state":"failed","reason":"exit_1",'
    b'"round_id":null,"attempt":1,"detail":null,"name":"train","tenant":"acme","cluster":"demo",'
    b'"array_id":null,"labels":{"team":"vision"},"of_a_newer_service":1}}'
)
SIGNED = headers([OLD, NEW], "msg_71", NOW_S, BODY)


def told(**changed: str) -> dict[str, str]:
    return SIGNED | {name.replace("_", "-"): value for name, value in changed.items()}


def test_the_published_example_of_the_scheme() -> None:
    """Its signature is accepted; only the body is no message of ours."""
    secret, now_s = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", 1614265330
    sent = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": str(now_s),
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    with pytest.raises(fairwatt.WebhookRefused, match="in a shape"):
        fairwatt.verify_webhook(secret, sent, b'{"test": 2432232314}', now_s=now_s)


@pytest.mark.parametrize(
    "secrets",
    [OLD, NEW, [OTHER, NEW], (OLD, OTHER), iter([NEW])],
    ids=["old", "new", "list", "tuple", "iterator"],
)
def test_any_known_secret_will_do(secrets: str | list[str]) -> None:
    message = fairwatt.verify_webhook(secrets, SIGNED, BODY, now_s=NOW_S)
    assert (message.id, message.type, message.data.job_id) == ("msg_71", "job.failed", 4711)
    assert message.data.labels == {"team": "vision"}


def test_names_of_headers_have_no_case_and_the_body_may_be_text() -> None:
    shouted = {name.upper(): value for name, value in SIGNED.items()}
    assert fairwatt.verify_webhook(OLD, shouted, BODY.decode(), now_s=NOW_S).id == "msg_71"


@pytest.mark.parametrize(
    ("sent", "body", "said"),
    [
        (told(webhook_id=""), BODY, "no webhook-id"),
        (told(webhook_signature=""), BODY, "no webhook-signature"),
        (told(webhook_id="msg_72"), BODY, "has signed"),
        (told(webhook_timestamp=str(NOW_S + 1)), BODY, "has signed"),
        (told(webhook_timestamp="soon"), BODY, "no number"),
        (told(webhook_timestamp="9" * 5000), BODY, "no number"),
        (told(webhook_signature="v1,"), BODY, "has signed"),
        (told(webhook_signature="v1,\xe4"), BODY, "has signed"),
        (told(webhook_signature=SIGNED["webhook-signature"].replace("v1", "v2")), BODY, "signed"),
        (SIGNED, BODY + b" ", "has signed"),
        (SIGNED, b"", "has signed"),
    ],
)
def test_what_is_refused(sent: dict[str, str], body: bytes, said: str) -> None:
    with pytest.raises(fairwatt.WebhookRefused, match=said) as refused:
        fairwatt.verify_webhook([OLD, NEW], sent, body, now_s=NOW_S)
    assert refused.value.next_step


def test_unknown_secrets_verify_nothing() -> None:
    for secrets in ([], [OTHER]):
        with pytest.raises(fairwatt.WebhookRefused):
            fairwatt.verify_webhook(secrets, SIGNED, BODY, now_s=NOW_S)


@pytest.mark.parametrize("late_s", [-301, 301])
def test_what_is_not_of_now_is_refused(late_s: int) -> None:
    with pytest.raises(fairwatt.WebhookRefused, match="from now"):
        fairwatt.verify_webhook(OLD, SIGNED, BODY, now_s=NOW_S + late_s)
    later = NOW_S + late_s
    assert fairwatt.verify_webhook(OLD, SIGNED, BODY, now_s=later, tolerance_s=600).id == "msg_71"


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_no base64", "whsec_\xe4"])
def test_what_is_no_secret_is_said_so(secret: str) -> None:
    with pytest.raises(fairwatt.FairwattError, match="no secret of a webhook"):
        fairwatt.verify_webhook(secret, SIGNED, BODY, now_s=NOW_S)


def test_its_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: float(NOW_S))
    names = {"fairwatt": fairwatt, "secret": OLD, "headers": SIGNED, "body": BODY}
    assert run_examples(fairwatt.verify_webhook.__doc__, names)
