"""A node joins once with its token, comes back under its own, and cannot take what is another's."""

from datetime import timedelta

import pytest
from django.db import transaction
from msgspec.structs import replace

from agent.wire import Register
from clusters.models import Gpu, GpuType, JoinToken, Node
from engines.agents.registration import node_register
from rest.problems import Conflict, Contradiction, Forbidden
from scheduler_service.factories import NOW, make_cluster, make_gpu_type, make_jobs, make_tenant
from scheduling.round import run_round
from tests.engines.agents.nodes import inventory, join, join_token, node_caller

pytestmark = pytest.mark.django_db


def test_joining_makes_a_ready_node_with_its_gpus() -> None:
    cluster = make_cluster()
    node = join(cluster, "n1", gpus=4).node

    assert (node.state, node.epoch, node.cpus, node.boot_id) == ("ready", 1, 64, "boot-1")
    assert node.gpu_type.max_w == 400
    assert list(Gpu.objects.filter(node=node).order_by("index").values_list("index", "fault")) == [
        (index, "") for index in range(4)
    ]
    token = JoinToken.objects.get()
    assert (token.used_at, token.used_by) == (NOW, node)


def test_a_join_token_works_once_but_its_answer_may_be_asked_for_again() -> None:
    cluster = make_cluster()
    secret = join_token(cluster)
    first = Register(install_id="install-one", inventory=inventory("n1"), join_token=secret)

    one = node_register(caller=None, register=first, now=NOW)
    again = node_register(caller=None, register=first, now=NOW)

    assert again.node.pk == one.node.pk
    assert again.secret != one.secret
    assert again.node.epoch == 2
    with pytest.raises(Forbidden) as refused:
        node_register(
            caller=None,
            register=replace(first, install_id="install-two", inventory=inventory("n2")),
            now=NOW,
        )
    assert refused.value.code == "join_token_refused"


@pytest.mark.parametrize("broken", ["expired", "revoked", "unknown"])
def test_a_dead_join_token_is_refused(broken: str) -> None:
    cluster = make_cluster()
    secret = join_token(cluster)
    if broken == "revoked":
        JoinToken.objects.update(revoked_at=NOW)
    now = NOW + timedelta(hours=2) if broken == "expired" else NOW
    given = "fw_j_" + "x" * 43 if broken == "unknown" else secret

    with pytest.raises(Forbidden), transaction.atomic():
        node_register(
            caller=None,
            register=Register(install_id="install-1", inventory=inventory("n1"), join_token=given),
            now=now,
        )
    assert not Node.objects.exists()


def test_coming_back_raises_the_epoch_and_revives_a_lost_node() -> None:
    agent = join(make_cluster(), "n1")
    Node.objects.update(state="lost")

    register = Register(install_id="install-n1", inventory=inventory("n1"))
    back = node_register(caller=node_caller(agent.node), register=register, now=NOW)

    assert (back.node.pk, back.node.epoch, back.node.state) == (agent.node.pk, 2, "ready")
    assert back.secret is None


def test_a_drained_node_stays_drained() -> None:
    agent = join(make_cluster(), "n1")
    Node.objects.update(state="drained")

    register = Register(install_id="install-n1", inventory=inventory("n1"))
    back = node_register(caller=node_caller(agent.node), register=register, now=NOW)

    assert back.node.state == "drained"


def test_gpus_of_another_node_are_refused() -> None:
    cluster = make_cluster()
    join(cluster, "n1")
    thief = replace(inventory("n2"), gpus=inventory("n1").gpus)

    with pytest.raises(Conflict) as refused:
        node_register(
            caller=None,
            register=Register(
                install_id="install-2", inventory=thief, join_token=join_token(cluster)
            ),
            now=NOW,
        )
    assert refused.value.code == "gpu_of_another_node"
    assert refused.value.errors[0].pointer == "/inventory/gpus/0/uuid"


def test_the_name_of_a_living_node_is_refused() -> None:
    cluster = make_cluster()
    join(cluster, "n1")
    twin = Register(
        install_id="install-9",
        inventory=replace(inventory("n1"), gpus=inventory("n9").gpus),
        join_token=join_token(cluster),
    )

    with pytest.raises(Conflict) as refused:
        node_register(caller=None, register=twin, now=NOW)
    assert refused.value.code == "node_name_taken"


def test_a_node_of_two_gpu_types_is_refused() -> None:
    mixed = inventory("n1")
    odd = (*mixed.gpus[:3], replace(mixed.gpus[3], type_name="H100"))

    with pytest.raises(Contradiction) as refused:
        node_register(
            caller=None,
            register=Register(
                install_id="install-1",
                inventory=replace(mixed, gpus=odd),
                join_token=join_token(make_cluster()),
            ),
            now=NOW,
        )
    assert refused.value.code == "one_gpu_type_per_node"


def test_a_known_gpu_type_keeps_the_operators_figures() -> None:
    make_gpu_type("A100", max_w=300)

    join(make_cluster(), "n1")

    assert GpuType.objects.get().max_w == 300


def test_a_gpu_that_is_gone_leaves_and_a_new_one_comes() -> None:
    agent = join(make_cluster(), "n1", gpus=2)
    fewer = inventory("n1", gpus=3)
    register = Register(install_id="install-n1", inventory=replace(fewer, gpus=fewer.gpus[1:]))

    node_register(caller=node_caller(agent.node), register=register, now=NOW)

    uuids = Gpu.objects.filter(node=agent.node).order_by("index").values_list("uuid", flat=True)
    assert list(uuids) == ["GPU-n1-1", "GPU-n1-2"]


def test_a_card_that_was_replaced_keeps_its_history_and_gives_up_its_place() -> None:
    """It has worked before, so that its row cannot go; the new card has its index."""
    cluster = make_cluster()
    agent = join(cluster, "n1", gpus=2)
    make_jobs(cluster, make_tenant(), 1, min_gpus=2, max_gpus=2)
    run_round(cluster.pk, now=NOW)
    (wanted,) = agent.sync().attempts
    agent.ended(wanted)
    agent.sync()
    before = inventory("n1", gpus=2)
    new = replace(before, gpus=(before.gpus[0], replace(before.gpus[1], uuid="GPU-new")))

    register = Register(install_id="install-n1", inventory=new)
    node_register(caller=node_caller(agent.node), register=register, now=NOW)

    found = {gpu.uuid: (gpu.index, gpu.fault) for gpu in Gpu.objects.all()}
    assert found["GPU-new"] == (1, "")
    index, fault = found["GPU-n1-1"]
    assert (index, "missing" in fault) == (63, True)
