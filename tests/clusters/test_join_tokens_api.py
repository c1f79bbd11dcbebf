"""Join tokens over HTTP: shown once, kept as a hash, revoked for good."""

from datetime import datetime, timedelta

import pytest

from clusters.models import Cluster, JoinToken
from tenancy.token_text import hash_of, looks_like_token
from tests.clusters.http import ClusterApi, refusal

pytestmark = pytest.mark.usefixtures("cluster")


def test_the_secret_is_shown_once_and_kept_as_a_hash(operator: ClusterApi) -> None:
    made = operator.made("join-tokens/", {"cluster": "berlin"})
    secret = made.pop("secret")
    row = JoinToken.objects.get()
    assert bytes(row.hash) == hash_of(secret)
    assert secret.startswith(made["prefix"])
    assert operator.get(f"join-tokens/{made['id']}/").json() == made
    assert secret.encode() not in operator.get("join-tokens/").content


def test_a_join_token_is_no_bearer_token(operator: ClusterApi) -> None:
    secret = operator.made("join-tokens/", {"cluster": "berlin"})["secret"]
    assert not looks_like_token(secret)
    assert ClusterApi(secret).get("clusters/").status_code == 401


def test_a_replay_does_not_repeat_the_secret(operator: ClusterApi) -> None:
    key = {"Idempotency-Key": "join-1"}
    first = operator.post("join-tokens/", {"cluster": "berlin"}, **key).json()
    again = operator.post("join-tokens/", {"cluster": "berlin"}, **key).json()
    assert again == {**first, "secret": None}
    assert JoinToken.objects.count() == 1


def test_it_lives_as_long_as_asked(operator: ClusterApi) -> None:
    made = operator.made("join-tokens/", {"cluster": "berlin", "lifetime_s": 600})
    created, expires = (datetime.fromisoformat(made[k]) for k in ("created_at", "expires_at"))
    assert abs(expires - created - timedelta(seconds=600)) < timedelta(seconds=60)


def test_revoking_is_final_and_listed(operator: ClusterApi, cluster: Cluster) -> None:
    made = operator.made("join-tokens/", {"cluster": "berlin"})
    path = f"join-tokens/{made['id']}/"
    assert operator.delete(path).status_code == 204
    revoked_at = operator.get(path).json()["revoked_at"]
    assert revoked_at is not None
    assert operator.delete(path).status_code == 204
    assert operator.get(path).json()["revoked_at"] == revoked_at
    assert operator.names("join-tokens/?revoked=true", "id") == [made["id"]]
    assert operator.names("join-tokens/?revoked=false", "id") == []


def test_it_may_say_where_the_node_will_stand(operator: ClusterApi) -> None:
    operator.made("racks/", {"cluster": "berlin", "name": "r1"})
    made = operator.made("join-tokens/", {"cluster": "berlin", "rack": "r1"})
    assert (made["rack"], made["partition"]) == ("r1", None)
    nowhere = operator.post("join-tokens/", {"cluster": "berlin", "partition": "x"})
    assert refusal(nowhere) == (409, "unknown_partition", "/partition")


def test_bad_input(operator: ClusterApi) -> None:
    unknown = operator.post("join-tokens/", {"cluster": "nope"})
    assert refusal(unknown) == (409, "unknown_cluster", "/cluster")
    short = operator.post("join-tokens/", {"cluster": "berlin", "lifetime_s": 1})
    assert refusal(short) == (400, "invalid", "/lifetime_s")


def test_tenants_do_not_see_join_tokens(member: ClusterApi) -> None:
    assert refusal(member.get("join-tokens/"))[:2] == (403, "missing_right")
