"""What names look like, in the database's CHECKs and in the shapes of requests alike."""

from django.db.models import Q

from rest.constraints import Check

# Lower-case letters, digits and inner dashes.
SLUG = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
# Also with inner dots, as hosts are called.
HOST = r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$"


def slug_name(of: str) -> Check:
    """That the rows' `name` is a slug; `of` is what the rows are."""
    says = "bad_name: Lower-case letters, digits and inner dashes, at most 63."
    return Check(f"{of}_name_is_slug", Q(name__regex=SLUG), says)
