"""Signatures of the Standard Webhooks scheme: HMAC-SHA256 over id, time and body, `v1`."""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence
from hashlib import sha256
from secrets import token_bytes

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    return PREFIX + b64encode(token_bytes(SECRET_BYTES)).decode()


def signature(secret: str, message_id: str, sent_s: int, body: bytes) -> str:
    key = b64decode(secret.removeprefix(PREFIX))
    signed = b"%b.%d.%b" % (message_id.encode(), sent_s, body)
    return f"v1,{b64encode(hmac.digest(key, signed, sha256)).decode()}"


def headers(secrets: Sequence[str], message_id: str, sent_s: int, body: bytes) -> dict[str, str]:
    """With a signature by each secret: while one is rotated, a receiver may know either."""
    signed = " ".join(signature(secret, message_id, sent_s, body) for secret in secrets)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(sent_s),
        "webhook-signature": signed,
    }
