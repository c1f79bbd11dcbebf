"""Which periodic duty was last done, when and by whom."""

from django.db import models

from rest.constraints import Check


class DutyRecord(models.Model):
    """The ticker does what nobody has done in time; of two that would, one gets the row."""

    class Runner(models.TextChoices):
        WORKER = "worker"
        TICKER = "ticker"

    name = models.TextField(primary_key=True)
    ran_at = models.DateTimeField()
    runner = models.TextField(choices=Runner)

    class Meta:
        constraints = (
            Check(
                "duty_runner",
                models.Q(runner__in=("worker", "ticker")),
                "conflict: A duty is done by a worker or the ticker.",
                pointer="",
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} by {self.runner}"
