"""For receivers of webhooks: is a message the service's, by the Standard Webhooks scheme?"""

import hmac
import time
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256

import msgspec

from fairwatt.errors import FairwattError
from fairwatt.structs.jobs import JobEvent

PREFIX, VERSION = "whsec_", "v1,"
TOLERANCE_S = 300.0
MOST_DIGITS = 12


class WebhookRefused(FairwattError):
    """A message that is not the service's, or not of now: answer 400 and do nothing."""


class WebhookMessage(msgspec.Struct, frozen=True):
    """What a receiver is told; `id` is the same whenever it is sent."""

    type: str
    timestamp: datetime
    data: JobEvent
    id: str = ""


def verify_webhook(
    secrets: str | Iterable[str],
    headers: Mapping[str, str],
    body: bytes | str,
    *,
    tolerance_s: float = TOLERANCE_S,
    now_s: float | None = None,
) -> WebhookMessage:
    """What was told, if one of the secrets signed it not long ago; WebhookRefused otherwise.

    `body` is what came over the wire: JSON that was read and written again has another signature.
    While a secret is rotated, give the old one and the new. `now_s` is the time of day unless it
    is given.

    >>> message = fairwatt.verify_webhook(secret, headers, body)
    >>> message.type, message.data.job_id
    ('job.failed', 4711)
    """
    known = {name.lower(): value for name, value in headers.items()}
    message_id, sent, signed = (
        _header(known, name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
    )
    _check_time(sent, time.time() if now_s is None else now_s, tolerance_s)
    content = b".".join(map(_bytes, (message_id, sent, body)))
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not _signed_by_one(keys, content, signed):
        raise WebhookRefused(
            "No secret that is known here has signed the message.",
            "Refuse it; if all are, `fairwatt webhook rotate ID` makes a new secret.",
        )
    return _read(message_id, body)


def _header(known: Mapping[str, str], name: str) -> str:
    if not known.get(name):
        raise WebhookRefused(f"The message has no {name}.", "Refuse it: the service's have one.")
    return known[name]


def _check_time(sent: str, now_s: float, tolerance_s: float) -> None:
    """An old message may be one that somebody overheard and says again."""
    if not (sent.isascii() and sent.isdigit() and len(sent) <= MOST_DIGITS):
        raise WebhookRefused("The message's time is no number.", "Refuse it.")
    if abs(now_s - int(sent)) > tolerance_s:
        raise WebhookRefused(
            f"The message's time is more than {tolerance_s:g} s from now.",
            "Refuse it; if all are, set this machine's clock.",
        )


def _key(secret: str) -> bytes:
    try:
        found = b64decode(secret.removeprefix(PREFIX), validate=True)
    except (NotBase64, ValueError):
        found = b""
    if not found:
        raise FairwattError("That is no secret of a webhook.", f"One begins with {PREFIX}.")
    return found


def _signed_by_one(keys: Iterable[bytes], content: bytes, signed: str) -> bool:
    """Every pair is compared, each in constant time: how long it takes tells nothing."""
    given = [
        _bytes(each.removeprefix(VERSION)) for each in signed.split() if each.startswith(VERSION)
    ]
    own = [b64encode(hmac.digest(key, content, sha256)) for key in keys]
    return sum(hmac.compare_digest(mine, theirs) for mine in own for theirs in given) > 0


def _read(message_id: str, body: bytes | str) -> WebhookMessage:
    try:
        message = msgspec.json.decode(body, type=WebhookMessage)
    except msgspec.DecodeError as error:
        raise WebhookRefused(
            f"The message is in a shape that this client does not know: {error}.",
            "Upgrade the client: pip install --upgrade fairwatt",
        ) from error
    return msgspec.structs.replace(message, id=message_id)


def _bytes(text: bytes | str) -> bytes:
    return text if isinstance(text, bytes) else text.encode(errors="replace")
