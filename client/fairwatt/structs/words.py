"""Words that the service uses for states; one that is newer than this client is kept as it is."""

from enum import StrEnum
from typing import Self


class Word(StrEnum):
    @classmethod
    def _missing_(cls, value: object) -> Self:
        """A state that a newer service knows: a word like the others, without a name here."""
        word = str.__new__(cls, str(value))
        word._name_, word._value_ = str(value).upper(), str(value)
        return word


class JobState(Word):
    QUEUED = "queued"
    PLACED = "placed"
    RUNNING = "running"
    PREEMPTING = "preempting"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        return self in {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED}


class AttemptState(Word):
    OFFERED = "offered"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"
    LOST = "lost"


class ArtifactState(Word):
    PENDING = "pending"
    STORED = "stored"
    MISSING = "missing"
    REFUSED = "refused"


class DeliveryState(Word):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class NodeState(Word):
    JOINING = "joining"
    READY = "ready"
    DRAINING = "draining"
    DRAINED = "drained"
    LOST = "lost"
    OFF = "off"
    QUARANTINED = "quarantined"


class WorkState(Word):
    """Of simulations and forecasts."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def ended(self) -> bool:
        return self in {WorkState.SUCCEEDED, WorkState.FAILED, WorkState.CANCELLED}
