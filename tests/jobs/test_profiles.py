"""Profiles: measured points, kept per tenant."""

from typing import Any

import pytest

from jobs.models import Profile, ProfilePoint
from tenancy.models import AuditRow
from tests.api import Api
from tests.jobs.conftest import Submit, World

PROFILES = "/api/v1/profiles/"
POINT: dict[str, Any] = {"gpu_type": "A100", "gpus": 2, "steps_per_s": 7.5}


def make(api: Api, name: str = "resnet-50/imagenet", **fields: Any) -> dict[str, Any]:
    answer = api.post(PROFILES, {"name": name, "points": [POINT], **fields})
    assert answer.status_code == 201, answer.content
    made: dict[str, Any] = answer.json()
    return made


def test_a_profile_keeps_its_points(member: Api, world: World) -> None:
    full = {**POINT, "gpus": 4, "clock_mhz": 1410, "watts_per_gpu": 310.5}
    made = make(member, points=[POINT, full])
    rest = dict.fromkeys(("clock_mhz", "watts_per_gpu", "cpus_per_gpu", "memory_mib_per_gpu"))
    assert made["points"] == [{**rest, **POINT}, {**rest, **full}]
    assert (made["basis"], made["fit"]) == ("measured", None)
    rows = ProfilePoint.objects.filter(tenant=world.ours, profile=made["id"]).order_by("id")
    assert [(row.gpus, row.source, row.watts_per_gpu) for row in rows] == [
        (2, "given", None),
        (4, "given", 310.5),
    ]
    assert member.get(f"{PROFILES}{made['id']}/").json() == made
    assert AuditRow.objects.get(action="profile.create").changes == {
        "name": "resnet-50/imagenet",
        "points": 2,
    }


@pytest.mark.parametrize(
    ("fields", "status", "pointer"),
    [
        ({"name": "-x"}, 400, "/name"),
        ({"name": "x\n"}, 400, "/name"),
        ({"name": "x" * 129}, 400, "/name"),
        ({"points": [{**POINT, "gpus": 0}]}, 400, "/points/0/gpus"),
        ({"points": [{**POINT, "steps_per_s": 0}]}, 400, "/points/0/steps_per_s"),
        ({"points": [{**POINT, "speed": 1}]}, 400, "/points/0/speed"),
        ({"points": [POINT, POINT]}, 422, "/points/1"),
        ({"points": [{**POINT, "gpu_type": "B9000"}]}, 409, "/points/0/gpu_type"),
        ({"tenant": "theirs"}, 409, "/tenant"),
    ],
)
def test_refused_with_a_pointer(
    member: Api, fields: dict[str, Any], status: int, pointer: str
) -> None:
    answer = member.post(PROFILES, {"name": "p", "points": [], **fields})
    assert answer.status_code == status, answer.content
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert not Profile.objects.exists()


def test_names_are_a_tenants_own(member: Api, stranger: Api) -> None:
    make(member, "p")
    make(stranger, "p")
    taken = member.post(PROFILES, {"name": "p"})
    assert (taken.status_code, taken.json()["code"]) == (409, "name_taken")
    assert taken.json()["errors"][0]["pointer"] == "/name"


def test_changing_needs_the_current_tag(member: Api) -> None:
    url = f"{PROFILES}{make(member)['id']}/"
    tag = member.get(url)["ETag"]
    changed = member.patch(url, {"points": []}, headers={"If-Match": tag})
    assert (changed.status_code, changed.json()["points"]) == (200, [])
    assert changed.json()["version"] == 2
    stale = member.patch(url, {"name": "other"}, headers={"If-Match": tag})
    assert stale.status_code == 412
    assert member.patch(url, {}, headers={"If-Match": "*"}).json()["version"] == 2


def test_a_profile_in_use_stays(member: Api, submit: Submit) -> None:
    used, unused = make(member, "used"), make(member, "unused")
    submit(profile="used")
    kept = member.delete(f"{PROFILES}{used['id']}/", headers={"If-Match": "*"})
    assert (kept.status_code, kept.json()["code"]) == (409, "in_use")
    gone = member.delete(f"{PROFILES}{unused['id']}/", headers={"If-Match": "*"})
    assert gone.status_code == 204
    assert list(Profile.objects.values_list("name", flat=True)) == ["used"]
    assert AuditRow.objects.filter(action="profile.delete").count() == 1


def test_another_tenants_profile_does_not_exist(member: Api, stranger: Api) -> None:
    url = f"{PROFILES}{make(member)['id']}/"
    assert stranger.get(PROFILES).json()["items"] == []
    assert stranger.get(url).status_code == 404
    assert stranger.patch(url, {"points": []}, headers={"If-Match": "*"}).status_code == 404
    assert stranger.delete(url, headers={"If-Match": "*"}).status_code == 404
    assert Profile.objects.get().version == 1


def test_operators_say_for_whom(operator: Api, world: World) -> None:
    answer = operator.post(PROFILES, {"name": "p"})
    assert (answer.status_code, answer.json()["code"]) == (422, "tenant_required")
    assert make(operator, tenant="theirs")["tenant"] == "theirs"
    assert operator.post(PROFILES, {"name": "p", "tenant": "nobody"}).status_code == 409
