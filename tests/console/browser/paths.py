"""Every page that there is in the story."""

from django.urls import reverse

from lab.screenshots.shots import shots
from lab.screenshots.story.story import Story

MEMBERS_TOO = ("queue", "jobs", "money")


def of_operator(story: Story) -> list[str]:
    """Those that are pictured, and those that look like one of them."""
    pictured = {shot.path: None for shot in shots(story) if not shot.of_member}
    rack = reverse("console:rack", args=[story.cluster.pk, story.rack.pk])
    return [
        *pictured,
        rack,
        reverse("console:tariffs"),
        reverse("console:tenant", args=[story.tenant.pk]),
    ]


def of_member(story: Story) -> list[str]:
    return [
        reverse("console:tenant", args=[story.tenant.pk]),
        *(reverse(f"console:{name}") for name in MEMBERS_TOO),
        reverse("console:job", args=[story.running.pk]),
        reverse("console:job", args=[story.waiting.pk]),
        f"{reverse('console:money')}?tenant={story.tenant.pk}&label=project",
    ]
