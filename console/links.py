"""Links by which a person signs in once: signed, short-lived, void after the next sign-in."""

from datetime import timedelta

from django.contrib.auth.models import User
from django.core import signing

SALT = "console.sign-in-link"
LIFETIME = timedelta(minutes=10)


def made_for(person: User) -> str:
    """The part of the address that stands for the person."""
    return signing.dumps({"user": person.pk, "since": _since(person)}, salt=SALT)


def person_of(text: str) -> User | None:
    """None for a link that is forged, too old or used: signing in moves `last_login`."""
    try:
        said = signing.loads(text, salt=SALT, max_age=LIFETIME)
    except signing.BadSignature:
        return None
    person = User.objects.filter(pk=said["user"], is_active=True).first()
    return person if person is not None and _since(person) == said["since"] else None


def _since(person: User) -> str:
    return person.last_login.isoformat() if person.last_login else ""
