"""Every crash point once, under the traffic of the clients: armed, reached, survived."""

import signal
import time
from collections.abc import Sequence

from lab.chaos import targets
from lab.chaos.crash.points import CrashPoint, Provoke
from lab.chaos.history import now_s
from lab.chaos.piece import CampaignPiece
from lab.chaos.say import say

# So many, one after another, before the service may come to rest: what crashes in the middle of a
# recovery finds more, and takes less time.
BATCH = 4
PROVOKE_EVERY_S = 20.0


def sweep(points: Sequence[CrashPoint], piece: CampaignPiece) -> list[str]:
    """The names of those that were reached, and after which the service came back."""
    survived: list[str] = []
    for first in range(0, len(points), BATCH):
        reached = [point.name for point in points[first : first + BATCH] if _reached(piece, point)]
        if reached and piece.recover([f"crash at {name}" for name in reached]):
            survived += reached
    return survived


def _reached(piece: CampaignPiece, point: CrashPoint) -> bool:
    armed, mark = piece.stack.crash / "armed", piece.stack.crash / "reached" / point.name
    armed.write_text(point.name)
    begun_s, provoked_s = now_s(), 0.0
    while not mark.exists() and now_s() < begun_s + piece.operator.patience_s / 4:
        if point.provoke is Provoke.AGENT_RESTART and now_s() > provoked_s + PROVOKE_EVERY_S:
            provoked_s = now_s()
            _kill_an_agent(piece)
        time.sleep(0.05)
    armed.unlink()
    if mark.exists():
        piece.counts[f"crash at {point.name}"] += 1
        piece.history.note("crash", point=point.name)
    say(f"       {point.name}: {'reached' if mark.exists() else 'NOT REACHED'}")
    return mark.exists()


def _kill_an_agent(piece: CampaignPiece) -> None:
    agents = {name: pid for name, pid in piece.stack.pids().items() if name.startswith("node-")}
    if agents:
        targets.send([agents[piece.draw.choice(sorted(agents))]], signal.SIGKILL)
