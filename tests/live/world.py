"""What the seed left behind: secrets of every kind of caller, and ids to ask for."""

from dataclasses import asdict, dataclass, field

import msgspec

# Begins every id of the other tenant's rows, so that an id alone gives a leak away.
THEIR_IDS_FROM = 771_828_182_800_000
# Stands in every text of the other tenant's rows; fits the names that must be slugs.
CANARY = "canary-7d1f"

Ids = dict[str, int | str]


@dataclass(frozen=True)
class World:
    """Ids by collection, as the addresses name it: ours, theirs, and of what tenants share."""

    secrets: dict[str, str] = field(default_factory=dict)
    ours: Ids = field(default_factory=dict)
    theirs: Ids = field(default_factory=dict)
    shared: Ids = field(default_factory=dict)

    def id_of(self, collection: str, whose: str = "ours") -> int | str:
        own: Ids = self.theirs if whose == "theirs" else self.ours
        found = own.get(collection) or self.shared.get(collection)
        if found is None:
            raise LookupError(f"tests/live/seed.py must make a row of {collection!r} to ask for")
        return found

    def dump(self) -> str:
        return msgspec.json.encode(asdict(self)).decode()

    @classmethod
    def load(cls, text: str) -> "World":
        return msgspec.json.decode(text, type=cls)


def leaks(text: str) -> list[str]:
    """Marks of the other tenant in what was received, with what stands around them."""
    marks = (CANARY, str(THEIR_IDS_FROM)[:9])
    places = [text.lower().find(mark) for mark in marks]
    return [text[max(0, at - 60) : at + 60] for at in places if at >= 0]
