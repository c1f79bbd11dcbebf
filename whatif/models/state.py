"""Where a piece of work of the workers is."""

from django.db.models import Q, TextChoices


class WorkState(TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


LIVE = (WorkState.QUEUED, WorkState.RUNNING)
_ENDED = ("succeeded", "failed", "cancelled")
# An end has a time and what lives has none; also refuses any other state.
ENDED_WHEN_OVER = Q(state__in=_ENDED, ended_at__isnull=False) | Q(
    state__in=("queued", "running"), ended_at__isnull=True
)
