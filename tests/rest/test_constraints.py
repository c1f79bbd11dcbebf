"""Constraints say what breaking them means, and migrations do not see the words."""

import pytest
from django.db import connection, models
from django.db.models import F, Q
from django.test.utils import isolate_apps

from rest.constraints import Check, ConstraintRule, Unique, made_name, rules_of


@isolate_apps("rest")
def test_words_come_from_the_models() -> None:
    class Garage(models.Model):  # noqa: DJ008
        name = models.TextField(unique=True)

        class Meta:
            app_label = "rest"

    class Car(models.Model):  # noqa: DJ008
        garage = models.ForeignKey(Garage, models.CASCADE)
        owner = models.ForeignKey(Garage, models.CASCADE, related_name="+")
        plate = models.TextField(unique=True)
        doors = models.PositiveIntegerField()
        seats = models.IntegerField()

        explained = {
            "owner": ConstraintRule("owner_gone", "/owner", "The owner is gone."),
            "car_moves": ConstraintRule("stuck", "", "A trigger says no."),
        }

        class Meta:
            app_label = "rest"
            constraints = (
                Unique("car_once", ["garage", "seats"], "parked: It stands there already."),
                Check(
                    "car_doors",
                    Q(doors__isnull=True) | Q(doors__lte=F("seats")),
                    "too_many: More doors than seats.",
                    pointer="/doors_and_seats",
                ),
                Check(
                    "car_seats", Q(Q(seats__gt=0), Q(doors__gt=0)), "empty: Sit down: nobody can."
                ),
                models.CheckConstraint(condition=Q(seats__lt=99), name="without_words"),
            )

    rules = rules_of(Car)
    keys = {name: rule for name, rule in rules.items() if "_fk_" in name}
    assert [(rule.code, rule.pointer) for rule in keys.values()] == [
        ("reference_changed", "/garage"),
        ("owner_gone", "/owner"),
    ]
    assert all(name.startswith("rest_car_") for name in keys)
    taken = ConstraintRule("plate_taken", "/plate", "Another car has this plate; choose another.")
    assert {name: rule for name, rule in rules.items() if name not in keys} == {
        "rest_car_plate_key": taken,
        "rest_car_doors_check": ConstraintRule(
            "out_of_range", "/doors", "The value is outside what the column can hold."
        ),
        "car_once": ConstraintRule("parked", "/seats", "It stands there already."),
        "car_doors": ConstraintRule("too_many", "/doors_and_seats", "More doors than seats."),
        "car_seats": ConstraintRule("empty", "/seats", "Sit down: nobody can."),
        "car_moves": ConstraintRule("stuck", "", "A trigger says no."),
    }


def test_migrations_see_the_plain_constraint() -> None:
    explained = Check("car_doors", Q(doors__gt=0), "x: X.", pointer="/y")
    plain = models.CheckConstraint(condition=Q(doors__gt=0), name="car_doors")
    assert explained.deconstruct() == plain.deconstruct()
    assert plain == explained
    assert explained.clone().rule() == ConstraintRule("x", "/y", "X.")
    assert explained != models.CheckConstraint(condition=Q(doors__gt=1), name="car_doors")


@pytest.mark.parametrize(
    ("table", "column", "name"),
    [
        ("clusters_cluster", "name", "clusters_cluster_name_key"),
        ("t" * 50, "c" * 50, "t" * 29 + "_" + "c" * 29 + "_key"),
        ("t" * 70, "c", "t" * 57 + "_c_key"),
    ],
)
def test_names_as_postgres_makes_them(table: str, column: str, name: str) -> None:
    assert made_name(table, column, "key") == name
    assert len(name) <= 63


@pytest.mark.django_db
def test_postgres_makes_the_same_names() -> None:
    table, column = "t" * 50, "c" * 50
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMP TABLE {table} ({column} int UNIQUE CHECK ({column} > 0))")
        cursor.execute("SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass", [table])
        found = {name for (name,) in cursor.fetchall()}
    assert found >= {made_name(table, column, "key"), made_name(table, column, "check")}
