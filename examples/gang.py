"""Several processes that must all be there: each step ends with a sum over all ranks."""

import argparse
import os
import socket
import struct
import sys
import time

import fairwatt_progress as progress

NUMBER = struct.Struct("!d")
PATIENCE_S = 60.0


def receive(peer: socket.socket) -> float:
    data = b""
    while len(data) < NUMBER.size:
        part = peer.recv(NUMBER.size - len(data))
        if not part:
            raise ConnectionError("a rank has left the gang")
        data += part
    return float(NUMBER.unpack(data)[0])


class Ranks:
    """Rank 0 gathers one number from every other rank and sends the sum to all."""

    def __init__(self, rank: int, world: int, address: str, port: int) -> None:
        self._rank = rank
        if rank == 0:
            with socket.create_server(("", port)) as door:
                door.settimeout(PATIENCE_S)
                self._peers = [door.accept()[0] for _ in range(world - 1)]
        else:
            self._peers = [self._join(address, port)]
        for peer in self._peers:
            peer.settimeout(PATIENCE_S)

    def _join(self, address: str, port: int) -> socket.socket:
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                return socket.create_connection((address, port), timeout=PATIENCE_S)
            except ConnectionRefusedError:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(0.1)

    def sum(self, value: float) -> float:
        if self._rank == 0:
            total = value + sum(receive(peer) for peer in self._peers)
            for peer in self._peers:
                peer.sendall(NUMBER.pack(total))
            return total
        self._peers[0].sendall(NUMBER.pack(value))
        return receive(self._peers[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--step-s", type=float, default=0.05)
    given = parser.parse_args()
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    address = os.environ.get("MASTER_ADDR", "127.0.0.1")
    gang = Ranks(rank, world, address, int(os.environ.get("MASTER_PORT", "29500")))

    # Where the ranks do not agree on a step, for one moved and lost its file, all begin anew.
    name = f"rank{rank}.json"
    state = progress.restore({"step": 0, "sum": 0.0}, name)
    same = gang.sum(state["step"]) == world * state["step"]
    if gang.sum(float(same)) < world:
        state = {"step": 0, "sum": 0.0}
    sys.stdout.write(f"rank {rank} of {world} starting at step {state['step']}\n")
    while state["step"] < given.steps:
        time.sleep(given.step_s)
        state["sum"] += gang.sum(rank + 1.0)
        state["step"] += 1
        if rank == 0:
            progress.report(step=state["step"])
        # All leave together: one who saw the signal a step early would break the others' sum.
        if gang.sum(float(progress.stop_asked())) > 0:
            progress.save(state, name)
            return 143
    sys.stdout.write(f"rank {rank} done: sum {state['sum']:.0f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
