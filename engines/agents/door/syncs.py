"""A sync at the door: quiet ones are answered together, one with news goes its own way."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from django.conf import settings
from django.utils import timezone

from agent import wire
from engines.agents.api import read, spend
from engines.agents.desired import Held, not_spelled_out, spell_out
from engines.agents.door.heard import Heard, Hearing, Said
from engines.agents.door.progress import ProgressNotes
from engines.agents.door.threads import for_agents
from engines.agents.node_state import KnownNode
from engines.agents.quiet import acknowledged, is_quiet, progress_in
from engines.agents.sync import answer, node_sync, sync_take
from rest.asgi import AsgiRequest, DjangoThreads
from rest.gathered import Gathered
from rest.problems import Problem
from tenancy.authentication import hash_in_header

MOST_AT_ONCE = 256
# A round holds the nodes that it places on for that long at most, in the usual course.
HELD_UP_TRIES, HELD_UP_S = 20, 0.02


class SyncDesk:
    """One sync of a node at a time: whoever sends many only fills its own place."""

    def __init__(self, hearing: Hearing, notes: ProgressNotes, threads: DjangoThreads) -> None:
        self._hearing, self._notes, self._threads = hearing, notes, threads
        self._heard: Gathered[Said, Heard | Exception] = Gathered(hearing.hear, most=MOST_AT_ONCE)
        self._spelled: Gathered[Sequence[Held], None] = Gathered(self._spell_out, most=MOST_AT_ONCE)
        self._speaking: set[bytes] = set()

    async def sync(self, ask: AsgiRequest) -> wire.Desired:
        spend(ask.authorization, "sync", settings.NODE_SYNCS_PER_MINUTE)
        secret_hash = hash_in_header(ask.authorization)
        with self._speaks(secret_hash):
            sync = read(wire.Sync, await ask.body(wire.MAX_BODY_BYTES))
            return await self._answer(Said(secret_hash, sync, timezone.now()))

    @contextmanager
    def _speaks(self, secret_hash: bytes) -> Iterator[None]:
        if secret_hash in self._speaking:
            detail = "Another sync of this node is being answered; come back."
            raise Problem(detail, code="busy", status=503, headers={"Retry-After": "1"})
        self._speaking.add(secret_hash)
        try:
            yield
        finally:
            self._speaking.discard(secret_hash)

    async def _answer(self, said: Said) -> wire.Desired:
        heard = await self._hear(said)
        if heard.node is None:
            # Late, or held up for long: on a thread it may wait for its turn.
            return await self._threads.run(
                for_agents, node_sync, heard.token_id, said.sync, now=said.at
            )
        if not is_quiet(heard.node, said.sync):
            node = _with_all_faults(heard.node, said.sync)
            return await self._threads.run(
                for_agents, sync_take, heard.token_id, node, said.sync, now=said.at
            )
        return await self._answer_quiet(heard.node, said.sync, said.at)

    async def _hear(self, said: Said) -> Heard:
        tries = 0
        while True:
            heard = await self._heard.ask(said)
            if isinstance(heard, Exception):
                raise heard
            tries += 1
            if not heard.held_up or tries == HELD_UP_TRIES:
                return heard
            await asyncio.sleep(HELD_UP_S)

    async def _answer_quiet(self, node: KnownNode, sync: wire.Sync, now: datetime) -> wire.Desired:
        self._notes.add(node.node_id, progress_in(node, sync), now)
        if missing := not_spelled_out(node):
            await self._spelled.ask(missing)
        acks = [report.ref for report in acknowledged(sync)]
        return answer(node, acks, self._hearing.granted, now=now)

    async def _spell_out(self, missing: Sequence[Sequence[Held]]) -> Sequence[None]:
        held = {each for node in missing for each in node}
        await self._threads.run(for_agents, spell_out, held)
        return [None] * len(missing)


def _with_all_faults(node: KnownNode, sync: wire.Sync) -> KnownNode:
    """Those that are not named have none; what is said of other nodes' GPUs is not written."""
    known = {gpu.uuid: node.faults.get(gpu.uuid, "") for gpu in sync.gpus}
    return KnownNode(node.node_id, node.state, node.cluster_id, known, node.held)
