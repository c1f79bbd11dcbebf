"""Every test has one kind, and none does what its kind does not allow."""

import os
import subprocess
import sys

import pytest

from tenancy.models import Tenant
from tests.kinds import KINDS, ProcessStarted, kind_of


@pytest.mark.parametrize(
    ("fixtures", "marks", "kind"),
    [
        ((), (), "unit"),
        (("tmp_path",), ("parametrize",), "unit"),
        (("db", "world"), (), "database"),
        ((), ("django_db",), "database"),
        (("broker_url",), (), "database"),
        (("database_url", "seeded", "live"), (), "process"),
        (("ground",), (), "process"),
        (("db",), ("process", "django_db"), "process"),
    ],
)
def test_fixtures_and_marks_tell_the_kind(
    fixtures: tuple[str, ...], marks: tuple[str, ...], kind: str
) -> None:
    assert kind_of(fixtures, marks) == kind


def test_every_test_of_this_run_has_one_kind(request: pytest.FixtureRequest) -> None:
    for item in request.session.items:
        marks = [mark.name for mark in item.iter_markers() if mark.name in KINDS]
        assert len(set(marks)) == 1, item.nodeid


def test_a_unit_test_cannot_ask_the_database(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("unit")
    with pytest.raises(RuntimeError, match="Database access not allowed"):
        Tenant.objects.count()


def test_a_unit_test_cannot_start_a_process() -> None:
    with pytest.raises(ProcessStarted, match=r"pytest\.mark\.process"):
        subprocess.run([sys.executable, "-c", ""], check=True)
    with pytest.raises(ProcessStarted):
        os.fork()


@pytest.mark.django_db
def test_a_database_test_cannot_start_a_process_either(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("database")
    assert Tenant.objects.count() == 0
    with pytest.raises(ProcessStarted):
        subprocess.run([sys.executable, "-c", ""], check=True)


@pytest.mark.django_db(transaction=True)
def test_what_commits_is_slow_by_itself(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("slow")


@pytest.mark.process
def test_a_process_test_can() -> None:
    assert subprocess.run([sys.executable, "-c", ""], check=False).returncode == 0
