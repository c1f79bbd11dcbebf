"""Strict serializers: unknown members are refused wherever they stand."""

import threading

import pytest
from django.contrib.auth.models import Group
from rest_framework.exceptions import ValidationError

from rest.problems.translate import faults
from rest.serializers import represented, validated
from tests.api import Api
from tests.rest.urls import Bulk, Car, GroupCreate, GroupOut


def test_unknown_members_are_named_by_pointer() -> None:
    body = {"cars": [{"name": "a", "x": 1}, {"name": "b", "wheels": [{"bolts": 1, "y": 2}]}]}
    with pytest.raises(ValidationError) as refused:
        validated(Bulk, body)
    found = {(fault.pointer, fault.code) for fault in faults(refused.value.detail)}
    assert found == {("/cars/0/x", "unknown_field"), ("/cars/1/wheels/0/y", "unknown_field")}


def test_output_members_are_unknown_as_input() -> None:
    with pytest.raises(ValidationError) as refused:
        validated(GroupOut, {"id": 7})
    assert next(faults(refused.value.detail)).code == "unknown_field"


def test_partial_input_may_leave_members_out() -> None:
    assert validated(GroupCreate, {}, partial=True) == {}
    with pytest.raises(ValidationError):
        validated(GroupCreate, {})


def test_one_instance_serves_many_threads() -> None:
    wrong: list[object] = []

    def work(n: int) -> None:
        for _ in range(200):
            taken = validated(Car, {"name": f"c{n}", "wheels": [{"bolts": n}]})
            if taken != {"name": f"c{n}", "wheels": [{"bolts": n}]}:
                wrong.append(taken)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_represented_reads_a_row() -> None:
    assert represented(GroupOut, Group(id=3, name="x")) == {"id": 3, "name": "x"}


def test_over_http(api: Api) -> None:
    answer = api.post("/groups/", {"name": "a", "colour": "red"})
    assert answer.status_code == 400
    assert answer.json()["errors"] == [
        {"pointer": "/colour", "code": "unknown_field", "detail": "There is no such field."}
    ]
    assert Group.objects.count() == 0
