"""Tells the site's own tool which nodes to power off and on; how is the site's business.

`FAIRWATT_POWER_COMMAND` is started with `on` or `off`, the node's name and its address, until it
exits with 0 once per change. It may be started twice for one change, and must not mind.
"""

import logging
import subprocess
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q

from clusters.models import Node
from clusters.node_states import State, advance

logger = logging.getLogger(__name__)

SWITCHED_OFF, SWITCHED_ON = "switched off by the policy", "switched on by the policy"
COMMAND_S = 30.0
# Longer than a server takes to boot, or to go off; after that it will not.
BOOT = timedelta(minutes=20)

# Whoever has an agent hears it first: one that is gone by then is lost, and not off.
_HEARD = Q(power_told="off") | Q(last_sync_at__isnull=True)
_OFF = Q(state=State.OFF, state_reason=SWITCHED_OFF) & ~Q(power_commanded="off") & _HEARD
_ON = Q(state=State.JOINING, state_reason=SWITCHED_ON) & ~Q(power_commanded="on")


def site_power_apply(*, now: datetime) -> int:
    """How many nodes the command has taken; also gives up on those that never came back."""
    late = Node.objects.filter(state_reason=SWITCHED_ON, updated_at__lt=now - BOOT)
    advance(late, sources=[State.JOINING], to=State.LOST, reason="did not come on", now=now)
    if not settings.POWER_COMMAND:
        return 0
    return sum(_command(node) for node in Node.objects.filter(_OFF | _ON).order_by("pk"))


def _command(node: Node) -> bool:
    word = "off" if node.state == State.OFF else "on"
    argv = [*settings.POWER_COMMAND, word, node.name, node.address]
    trouble = _run(argv)
    if trouble:
        logger.error("power command, %s %s: %s", word, node.name, trouble)
        return False
    # Should the node have been switched again meanwhile, the next look tells that as well.
    return bool(Node.objects.filter(pk=node.pk).update(power_commanded=word))


def _run(argv: Sequence[str]) -> str:
    """What went wrong, or nothing."""
    try:
        done = subprocess.run(  # noqa: S603  # the operator's own command, never a shell
            argv, timeout=COMMAND_S, capture_output=True, text=True, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else f"exit code {done.returncode}: {done.stderr[:200]}"
