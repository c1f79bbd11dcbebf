"""Boots are looked up once per process, whoever else comes."""

import pytest
from pytest_django import DjangoAssertNumQueries

from energy.models import Boot
from energy.telemetry.boots import boot_number
from scheduler_service.factories import NOW, make_cluster
from tests.engines.agents.nodes import join

pytestmark = pytest.mark.django_db


def test_a_new_boot_lets_no_other_be_forgotten(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    cluster = make_cluster()
    one, two = (join(cluster, name).node.pk for name in ("n1", "n2"))
    boot_number(one, "boot-a", now=NOW)
    known = boot_number(one, "boot-a", now=NOW)
    assert boot_number(two, "boot-b", now=NOW) != known
    with django_assert_num_queries(0):
        assert boot_number(one, "boot-a", now=NOW) == known
    assert Boot.objects.count() == 2
