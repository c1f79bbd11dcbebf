"""The one command that lets a machine join, to be pasted there."""

import shlex


def join_command(secret: str, server_url: str) -> str:
    """As `fairwatt join` prints it: the client knows nothing of the service's own code."""
    return (
        f"FAIRWATT_JOIN_TOKEN={secret} fairwatt-agent --server {shlex.quote(server_url)}"
        f' --name "$(hostname)" --state-dir /var/lib/fairwatt --tenant-uids 200000-299999'
    )
