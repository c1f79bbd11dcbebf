"""Samples count once, in whatever order they come; what cannot be true counts for its node."""

import json
import random
from datetime import timedelta

import pytest
from msgspec.structs import replace

from agent.wire import Telemetry as Message
from agent.wire import WireError, decode, encode
from clusters.models import Node
from energy.models import Boot, GpuCounter, Sample, SampleInbox
from energy.telemetry.digest import samples_digest
from engines.agents import telemetry_intake as intake
from engines.agents.stale import StaleEpoch
from engines.agents.telemetry_intake import telemetry_take
from rest.problems import Contradiction, Problem
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.round import run_round
from tests.energy.telemetry.readings import Gpu, deliver, sample, sender, take, telemetry
from tests.engines.agents.nodes import Agent, join

pytestmark = pytest.mark.django_db

UUID = "GPU-n1-0"


@pytest.fixture
def agent() -> Agent:
    return join(make_cluster(), "n1", gpus=2)


def _refused(agent: Agent) -> int:
    return Node.objects.get(pk=agent.node.pk).samples_refused


def _kept() -> list[tuple[int, int]]:
    return list(Sample.objects.order_by("gpu_id", "sequence").values_list("sequence", "energy_mj"))


def test_a_sample_is_kept_with_our_time_and_all_it_says(agent: Agent) -> None:
    taken = sample(
        UUID, 1, 500, boot_ms=90_000, power_mw=51_000, utilisation_pct=7, memory_used_mib=11,
        temperature_c=40, clock_mhz=1410,
    )  # fmt: skip
    take(agent.node, [taken], sent_boot_ms=91_500)

    kept = Sample.objects.get()
    assert kept.at == NOW - timedelta(seconds=1.5)
    assert (kept.energy_mj, kept.power_mw, kept.utilisation_pct) == (500, 51_000, 7)
    assert (kept.memory_used_mib, kept.temperature_c, kept.clock_mhz) == (11, 40, 1410)
    assert not SampleInbox.objects.exists()


def test_order_and_repetition_change_nothing(agent: Agent) -> None:
    gpu = Gpu(UUID)
    gpu.run(200, 300_000)
    shuffled = gpu.samples * 3
    random.Random(4).shuffle(shuffled)
    for first in range(0, len(shuffled), 50):
        take(agent.node, shuffled[first : first + 50], sent_boot_ms=200_000)

    assert _kept() == [(each.sequence, each.energy_mj) for each in gpu.samples]
    counter = GpuCounter.objects.get()
    assert (counter.first_mj, counter.last_mj) == (300_000, 200 * 300_000)
    assert _refused(agent) == 0


def test_the_first_of_two_samples_with_one_name_stays(agent: Agent) -> None:
    take(agent.node, [sample(UUID, 1, 500)])
    take(agent.node, [sample(UUID, 1, 501)])

    assert _kept() == [(1, 500)]


def test_the_same_number_in_another_boot_is_another_sample(agent: Agent) -> None:
    take(agent.node, [sample(UUID, 1, 500)])
    take(agent.node, [sample(UUID, 1, 3)], boot_id="boot-2")

    assert sorted(Sample.objects.values_list("energy_mj", flat=True)) == [3, 500]
    assert GpuCounter.objects.count() == Boot.objects.count() == 2


@pytest.mark.parametrize(
    ("energy_mj", "why"),
    [(99_999, "backwards"), (100_000 + 2_000_000, "faster than any such GPU"), (2**62, "absurd")],
)
def test_a_counter_that_cannot_be_true_is_refused(agent: Agent, energy_mj: int, why: str) -> None:
    take(agent.node, [sample(UUID, 1, 100_000)])
    take(agent.node, [sample(UUID, 2, energy_mj)])

    assert _kept() == [(1, 100_000)], why
    assert _refused(agent) == 1
    take(agent.node, [sample(UUID, 3, 700_000)])
    assert _kept()[-1] == (3, 700_000)


def test_a_late_sample_above_what_is_known_is_refused(agent: Agent) -> None:
    take(agent.node, [sample(UUID, 10, 1_000_000)])
    take(agent.node, [sample(UUID, 5, 1_000_001), sample(UUID, 6, 900_000)], sent_boot_ms=10_000)

    assert _kept() == [(6, 900_000), (10, 1_000_000)]
    assert _refused(agent) == 1


def test_samples_of_other_nodes_gpus_are_refused_and_the_rest_is_kept(agent: Agent) -> None:
    other = join(agent.node.cluster, "n2", gpus=1)
    take(agent.node, [sample("GPU-n2-0", 1, 5), sample("GPU-none", 1, 5), sample(UUID, 1, 5)])

    assert Sample.objects.count() == 1
    assert (_refused(agent), _refused(other)) == (2, 0)


def test_an_attempt_that_never_held_the_gpu_is_not_believed(agent: Agent) -> None:
    (job,) = make_jobs(agent.node.cluster, make_tenant(), 1)
    run_round(agent.node.cluster_id, now=NOW)
    (wanted,) = agent.sync().attempts
    held = wanted.gpu_uuids[0]
    free = next(uuid for uuid in ("GPU-n1-0", "GPU-n1-1") if uuid != held)

    named = {"attempt_id": wanted.attempt_id}
    take(agent.node, [sample(held, 1, 5, **named), sample(free, 1, 5, **named)])

    assert list(Sample.objects.values_list("attempt_id", flat=True)) == [wanted.attempt_id]
    assert _refused(agent) == 1
    assert job.pk


def test_samples_older_than_any_are_kept_are_refused(agent: Agent) -> None:
    take(agent.node, [sample(UUID, 1, 5)], sent_boot_ms=7 * 3600 * 1000)

    assert not Sample.objects.exists()
    assert _refused(agent) == 1


def test_what_the_agent_had_to_shed_is_known(agent: Agent) -> None:
    take(agent.node, [sample(UUID, 1, 5)], samples_shed=17)

    assert Node.objects.get(pk=agent.node.pk).samples_shed == 17


def test_an_older_epoch_is_fenced(agent: Agent) -> None:
    message = replace(telemetry(agent.node, [sample(UUID, 1, 5)]), epoch=agent.node.epoch + 1)
    with pytest.raises(StaleEpoch):
        telemetry_take(sender(agent.node), message, now=NOW)


def test_boots_without_end_are_refused(agent: Agent) -> None:
    for number in range(50):
        take(agent.node, [sample(UUID, 1, 5)], boot_id=f"b{number}")
    with pytest.raises(Contradiction):
        take(agent.node, [sample(UUID, 1, 5)], boot_id="one-more")


def test_a_full_inbox_sheds(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "INBOX", intake.Inbox())
    monkeypatch.setattr(intake, "INBOX_MOST", 2)
    samples = [sample(UUID, number, number) for number in range(4)]
    telemetry_take(sender(agent.node), telemetry(agent.node, samples), now=NOW)
    monkeypatch.setattr(intake, "INBOX", intake.Inbox())
    with pytest.raises(Problem) as shed:
        telemetry_take(sender(agent.node), telemetry(agent.node, samples), now=NOW)
    assert (shed.value.status_code, shed.value.headers) == (429, {"Retry-After": "10"})
    assert samples_digest() == 4


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("power_mw", 10**15),
        ("power_mw", -1),
        ("energy_mj", -1),
        ("energy_mj", 2**63),
        ("energy_mj", "NaN"),
        ("energy_mj", float("nan")),
        ("energy_mj", 1.5),
        ("boot_ms", 10**18),
        ("utilisation_pct", 101),
        ("uuid", "x" * 97),
        ("sequence", None),
    ],
)
def test_numbers_out_of_bounds_are_refused_with_their_place(
    agent: Agent, field: str, value: object
) -> None:
    body = json.loads(encode(telemetry(agent.node, [sample(UUID, 1, 5)])))
    body["samples"][0][field] = value
    with pytest.raises(WireError) as refused:
        decode(Message, json.dumps(body).encode())
    assert refused.value.pointer in {f"/samples/0/{field}", "", "/sent_boot_ms"}


def test_many_batches_of_many_gpus_are_digested_at_once(agent: Agent) -> None:
    gpus = [Gpu(f"GPU-n1-{index}") for index in range(2)]
    for gpu in gpus:
        gpu.run(100, 200_000)
    deliver(agent.node, (each for gpu in gpus for each in gpu.samples), batch=30)

    assert Sample.objects.count() == 200
    assert set(GpuCounter.objects.values_list("last_mj", flat=True)) == {20_000_000}


def test_gaps_in_the_sequence_are_taken_as_they_are(agent: Agent) -> None:
    """Samples may be shed; a number far ahead makes later ones late, for this node alone."""
    other = join(agent.node.cluster, "n2", gpus=1)
    far = sample(UUID, 10**15, 90_000, boot_ms=9000)
    take(agent.node, [sample(UUID, 1, 10_000), far], sent_boot_ms=9000)
    take(agent.node, [sample(UUID, 5, 50_000, boot_ms=5000)], sent_boot_ms=9000)
    take(other.node, [sample("GPU-n2-0", 1, 7)])

    assert _kept() == [(1, 10_000), (5, 50_000), (10**15, 90_000), (1, 7)]
    assert (_refused(agent), _refused(other)) == (0, 0)
    take(agent.node, [sample(UUID, 6, 95_000, boot_ms=9500)], sent_boot_ms=9500)
    assert _refused(agent) == 1
