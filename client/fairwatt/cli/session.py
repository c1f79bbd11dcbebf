"""A client for the profile that was asked for."""

import sys

from fairwatt.cli.ends import say
from fairwatt.profiles import ProfileError, ServiceProfile, chosen, config_path
from fairwatt.retry import Retry
from fairwatt.synchronous import Client

# A person waits at a prompt: a dead service is said at once, a restart is bridged while following.
PATIENCE_S, FOLLOW_PATIENCE_S = 2.0, 300.0


def connected(name: str | None = None) -> Client:
    return client_of(chosen(config_path(), name))


def client_of(profile: ServiceProfile) -> Client:
    if not profile.url:
        raise ProfileError(
            "No service is known yet.",
            "`fairwatt login URL` remembers one, or set FAIRWATT_URL and FAIRWATT_TOKEN.",
        )
    return Client(
        profile.url,
        profile.token,
        cluster=profile.cluster,
        patience_s=PATIENCE_S,
        follow_patience_s=FOLLOW_PATIENCE_S,
        on_retry=_tell,
    )


def _tell(retry: Retry) -> None:
    if (retry.patience_s > PATIENCE_S and sys.stderr.isatty()) or retry.waited_s == 0:
        left_s = retry.patience_s - retry.waited_s
        say(f"{retry.reason} Trying again for {left_s:.0f} s.")
