"""Uploads over HTTP: in parts, again, by two at once, up to the quota, and checked at the end."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from storage import uploads
from storage.models import Blob, Upload
from tenancy.models import Tenant
from tests.api import Api
from tests.storage.packing import digest, file, tar_gz
from tests.tenancy.conftest import World

UPLOADS, BLOBS = "/api/v1/uploads/", "/api/v1/blobs/"
ARCHIVE = tar_gz(file("train.py"), file("data.bin", bytes(range(256)) * 64))


def begin(api: Api, data: bytes = ARCHIVE, **fields: Any) -> Any:
    return api.post(UPLOADS, {"digest": digest(data), "size": len(data), **fields})


def part(api: Api, upload: Any, offset: int, data: bytes) -> Any:
    path = f"{UPLOADS}{upload['id']}/?offset={offset}"
    return api.send("PATCH", path, data, content_type="application/octet-stream")


def send(api: Api, data: bytes = ARCHIVE, **fields: Any) -> Any:
    upload = begin(api, data, **fields).json()
    return part(api, upload, 0, data)


def used(world: World) -> int:
    return Tenant.objects.get(pk=world.ours.pk).storage_used_bytes


def problem(answer: Any) -> tuple[int, str, list[str]]:
    body = answer.json()
    return answer.status_code, body["code"], [error["pointer"] for error in body["errors"]]


def test_parts_become_a_blob_that_is_stored_once(member: Api, world: World, store: Path) -> None:
    begun = begin(member)
    assert (begun.status_code, begun.json()["offset"], begun.json()["stored"]) == (201, 0, False)
    upload = begun.json()
    assert part(member, upload, 0, ARCHIVE[:100]).json()["offset"] == 100
    assert member.get(f"{UPLOADS}{upload['id']}/").json()["offset"] == 100
    done = part(member, upload, 100, ARCHIVE[100:])
    assert (done.status_code, done.json()["stored"], done.json()["id"]) == (200, True, None)
    assert used(world) == len(ARCHIVE)
    again = begin(member)
    assert (again.json()["stored"], used(world)) == (True, len(ARCHIVE))
    (listed,) = member.get(BLOBS).json()["items"]
    assert (listed["digest"], listed["format"]) == (digest(ARCHIVE), "tar.gz")
    kept = [path for path in store.rglob("*") if path.is_file()]
    assert [path.read_bytes() for path in kept] == [ARCHIVE]


def test_an_upload_goes_on_where_it_was(member: Api) -> None:
    upload = begin(member).json()
    part(member, upload, 0, ARCHIVE[:10])
    answer = part(member, upload, 0, ARCHIVE[:10])
    assert problem(answer) == (409, "wrong_offset", ["?offset"])
    assert answer.json()["offset"] == 10
    found = begin(member).json()
    assert (found["id"], found["offset"]) == (upload["id"], 10)


def test_bytes_that_are_not_what_was_said_are_refused(member: Api, world: World) -> None:
    upload = begin(member).json()
    wrong = bytes(len(ARCHIVE))
    assert problem(part(member, upload, 0, wrong)) == (422, "digest_mismatch", ["/digest"])
    assert (Upload.objects.count(), Blob.objects.count(), used(world)) == (0, 0, 0)
    assert send(member).json()["stored"]


def test_a_bad_archive_is_refused_with_its_reason(member: Api, world: World, store: Path) -> None:
    answer = send(member, tar_gz(file("../evil")))
    assert problem(answer) == (422, "path_leaves", ["/digest"])
    assert used(world) == 0
    assert not [path for path in store.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("fields", "status", "code", "pointer"),
    [
        ({"digest": "x"}, 400, "invalid", "/digest"),
        ({"digest": "A" * 64}, 400, "invalid", "/digest"),
        ({"size": 0}, 400, "invalid", "/size"),
        ({"size": 2**62}, 400, "invalid", "/size"),
        ({"size": 2**39}, 422, "too_large", "/size"),
        ({"format": "rar"}, 400, "invalid", "/format"),
        ({"name": "x"}, 400, "invalid", "/name"),
    ],
)
def test_bad_input(
    member: Api, fields: dict[str, Any], status: int, code: str, pointer: str
) -> None:
    assert problem(begin(member, **fields))[0::2] == (status, [pointer])
    assert problem(begin(member, **fields))[1] == code


def test_bad_parts(member: Api) -> None:
    upload = begin(member).json()
    path = f"{UPLOADS}{upload['id']}/"
    octets = "application/octet-stream"
    assert problem(member.send("PATCH", path, b"x", content_type=octets))[0] == 400
    assert problem(part(member, upload, 5, b"x"))[1] == "wrong_offset"
    assert problem(part(member, upload, 0, ARCHIVE + b"x")) == (409, "beyond_size", ["?offset"])
    large = bytes(uploads.MAX_PART_BYTES + 1)
    assert problem(part(member, upload, 0, large))[:2] == (413, "too_large")
    assert problem(member.send("PATCH", f"{path}?offset=0", b"{}"))[0] == 415
    assert problem(member.send("PATCH", f"{path}?offset=-1", b"x", content_type=octets))[0] == 400


def test_the_quota_counts_what_is_under_way(member: Api, operator: Api, world: World) -> None:
    Tenant.objects.filter(pk=world.ours.pk).update(storage_quota_bytes=len(ARCHIVE) + 10)
    upload = begin(member).json()
    assert used(world) == len(ARCHIVE)
    other = tar_gz(file("other"))
    assert problem(begin(member, other))[:2] == (409, "storage_quota_exceeded")
    assert member.delete(f"{UPLOADS}{upload['id']}/").status_code == 204
    assert used(world) == 0
    assert begin(member, other).status_code == 201


def test_a_blob_that_is_deleted_frees_the_quota(member: Api, world: World, store: Path) -> None:
    send(member)
    (blob,) = member.get(BLOBS).json()["items"]
    assert member.delete(f"{BLOBS}{blob['id']}/").status_code == 204
    assert (used(world), [path for path in store.rglob("*") if path.is_file()]) == (0, [])


def test_nobody_sees_anothers(member: Api, api_for: Any, world: World) -> None:
    send(member)
    stranger = api_for("member", world.theirs)
    assert stranger.get(BLOBS).json()["items"] == []
    assert not begin(stranger).json()["stored"]


def test_a_part_that_is_gone_is_said_and_sent_again(member: Api, store: Path) -> None:
    upload = begin(member).json()
    part(member, upload, 0, ARCHIVE[:10])
    for path in [path for path in store.rglob("*") if path.is_file()]:
        path.unlink()
    answer = part(member, upload, 10, ARCHIVE[10:])
    assert problem(answer) == (409, "part_gone", ["?offset"])
    assert send(member).json()["stored"]


def test_uploads_expire(member: Api, world: World, settings: Settings) -> None:
    upload = begin(member).json()
    part(member, upload, 0, ARCHIVE[:10])
    later = timezone.now() + timedelta(hours=settings.UPLOADS_KEEP_HOURS + 1)
    assert uploads.uploads_expire(now=timezone.now()) == 0
    assert uploads.uploads_expire(now=later) == 1
    assert (Upload.objects.count(), used(world)) == (0, 0)
