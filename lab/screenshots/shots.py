"""Which pages are pictured, of whom, and under which name."""

from collections.abc import Iterator
from typing import NamedTuple

from django.urls import reverse

from lab.screenshots.story.story import Story
from tariffs.models import Tariff


class Shot(NamedTuple):
    name: str
    path: str
    of_member: bool = False
    dark: bool = False
    phone: bool = False


def shots(story: Story) -> Iterator[Shot]:
    cluster = [story.cluster.pk]
    yield Shot("site", reverse("console:site"))
    yield Shot("site-dark", reverse("console:site"), dark=True)
    yield Shot("site-phone", reverse("console:site"), phone=True)
    yield Shot("node", reverse("console:node", args=[story.node.pk]))
    yield Shot("queue", reverse("console:queue"))
    yield Shot("jobs", reverse("console:jobs"))
    yield Shot("job", reverse("console:job", args=[story.running.pk]))
    yield Shot("job-waiting", reverse("console:job", args=[story.waiting.pk]))
    yield Shot("rounds", reverse("console:rounds"))
    yield Shot("round", reverse("console:round", args=[story.round.pk]))
    yield Shot("money", reverse("console:money"))
    yield Shot("money-tenant", f"{reverse('console:money')}?tenant={story.tenant.pk}&label=project")
    week = Tariff.objects.get(kind="time_of_use")
    yield Shot("tariff", reverse("console:tariff", args=[week.pk]))
    yield Shot("tenants", reverse("console:tenants"))
    yield Shot("tenant", reverse("console:tenant", args=[story.tenant.pk]), of_member=True)
    yield Shot("policy", reverse("console:policy", args=cluster))
    yield Shot("power", reverse("console:power", args=cluster))
    yield Shot("what-if", reverse("console:what-if"))
