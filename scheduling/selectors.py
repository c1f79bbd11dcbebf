"""Reads of rounds."""

from django.db.models import F, QuerySet

from scheduling.models import Round


def rounds() -> QuerySet[Round]:
    """Without the stored snapshot and plan, which are megabytes."""
    names = {"cluster_name": F("cluster__name")}
    return Round.objects.annotate(**names).defer("snapshot", "plan")
