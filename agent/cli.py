"""The command `fairwatt-agent`."""

import argparse
import asyncio
import logging
import os
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

from agent import __version__
from agent.assemble import AgentOptions, assemble, load_identity, open_device_set, probe_node
from agent.devices.base import DevicesError
from agent.loop import AgentLoop, EndRequestedError
from agent.remember.journal import JournalBrokenError
from agent.run.closed_folders import can_open_ways
from agent.run.tenant_users import NoSuchUserError, UidRange, check_told
from agent.talk import identity
from agent.talk.client import FencedError, RefusedError, ServiceClient
from agent.talk.identity import StateDirTakenError
from agent.wire import Inventory

log = logging.getLogger("fairwatt.agent")

# 1 and 2 are Python's and argparse's.
EXIT_CANNOT_START, EXIT_FENCED = 4, 3
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")


def main(argv: list[str] | None = None) -> int:
    options, check = _parse(sys.argv[1:] if argv is None else argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        return _check(options) if check else _serve(options)
    except (
        DevicesError,
        NoSuchUserError,
        StateDirTakenError,
        JournalBrokenError,
        OSError,
    ) as error:
        return _fail(str(error))
    except RefusedError as error:
        return _fail(f"the service turned this node away: {error}")


def _parse(argv: list[str]) -> tuple[AgentOptions, bool]:
    parser = argparse.ArgumentParser(
        prog="fairwatt-agent", description="Runs a node's attempts and reports its GPUs."
    )
    parser.add_argument("--server", metavar="URL", required=True, help="the service")
    parser.add_argument("--name", metavar="NODE", required=True, help="the node's name")
    parser.add_argument("--state-dir", metavar="DIR", required=True, type=Path)
    parser.add_argument("--devices", default="nvml", help="nvml or emulated:FILE (default nvml)")
    parser.add_argument(
        "--join-token",
        metavar="TOKEN",
        default=os.environ.get("FAIRWATT_JOIN_TOKEN"),
        help="needed once; better given in FAIRWATT_JOIN_TOKEN, which no process list shows",
    )
    parser.add_argument(
        "--checkpoint-dir",
        metavar="DIR",
        type=Path,
        help="for the jobs' checkpoints; shared by nodes, it lets jobs move (default in state dir)",
    )
    parser.add_argument("--address", help="where other nodes reach this one (default: found out)")
    parser.add_argument(
        "--tenant-uids",
        metavar="FIRST-LAST",
        type=UidRange.parse,
        help="run the attempts of each tenant as a uid of its own, as 200000-299999",
    )
    parser.add_argument("--run-as", metavar="USER", help="run all attempts as this user")
    parser.add_argument(
        "--trust-tenants",
        action="store_true",
        help="run attempts as the agent's own user, who can read its token and all their files",
    )
    parser.add_argument(
        "--archive-cache-mib",
        metavar="MIB",
        type=int,
        default=8192,
        help="how much of fetched archives is kept for the next attempt (default 8192)",
    )
    parser.add_argument(
        "--show",
        metavar="DIR",
        type=_directory,
        action="append",
        default=[],
        help="a folder that attempts may read even below /tmp, where they see nothing else of "
        "the host; again for each (the Python that runs the agent always is one)",
    )
    parser.add_argument(
        "--container", action="store_true", help="run images by podman, docker or apptainer"
    )
    parser.add_argument("--check", action="store_true", help="print what this host can, and end")
    parser.add_argument("--version", action="version", version=__version__)
    given = parser.parse_args(argv)
    # The agent's environment is inherited by shims and container tools.
    os.environ.pop("FAIRWATT_JOIN_TOKEN", None)
    if not NAME.fullmatch(given.name):
        parser.error(f"--name {given.name!r}: small letters, digits and hyphens, at most 64")
    if urlsplit(given.server).scheme not in ("http", "https"):
        parser.error(f"--server {given.server!r}: expected http://… or https://…")
    state_path = given.state_dir.resolve()
    checkpoint_path = given.checkpoint_dir.resolve() if given.checkpoint_dir else None
    options = AgentOptions(
        server=given.server,
        name=given.name,
        state_path=state_path,
        checkpoint_path=checkpoint_path or state_path / "checkpoints",
        devices=given.devices,
        join_token=given.join_token or None,
        address=given.address,
        container=given.container,
        run_as=given.run_as,
        tenant_uids=given.tenant_uids,
        trust_tenants=given.trust_tenants,
        archive_cache_bytes=max(0, given.archive_cache_mib) << 20,
        shown=tuple(given.show),
    )
    return options, given.check


def _directory(text: str) -> Path:
    path = Path(text).absolute()
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not a directory")
    return path


def _check(options: AgentOptions) -> int:
    devices = open_device_set(options)
    sys.stdout.write(describe(probe_node(options, devices)[1]))
    devices.close()
    return 0


def describe(inventory: Inventory) -> str:
    features = inventory.features
    lines = [
        f"node {inventory.name} at {inventory.address}, driver {inventory.driver}",
        f"{inventory.cpus} CPUs, {inventory.memory_mib} MiB, {len(inventory.numa)} NUMA nodes",
        *(
            f"gpu {gpu.index} {gpu.type_name} {gpu.memory_mib} MiB, {gpu.idle_w}-{gpu.max_w} W, "
            f"{len(gpu.clocks_mhz)} clocks, energy by {gpu.energy_method}, {gpu.uuid}"
            for gpu in inventory.gpus
        ),
        f"memory limit: {features.memory_limit}",
        f"cpu affinity: {_yes(features.affinity)}",
        f"cgroup: {_yes(features.cgroup)}",
        f"bubblewrap: {_yes(features.bubblewrap)}",
        f"containers: {features.containers or 'no'}",
        f"wall between tenants: {features.wall}",
        f"working directories and artifacts: {_yes(features.workloads)}",
        f"working directories from git: {_yes(features.git)}",
        f"lock clocks: {_yes(features.clocks)}",
        f"cap power: {_yes(features.power_caps)}",
        *(f"note: {note}" for note in features.notes),
    ]
    return "\n".join(lines) + "\n"


def _serve(options: AgentOptions) -> int:
    check_told(options.tenant_uids, options.run_as, trusted=options.trust_tenants)
    users = options.users
    options.state_dir.make()
    held = identity.lock(options.state_dir.lock)
    try:
        who = load_identity(options)
        if who.node_token is None and options.join_token is None:
            return _fail("this node has not joined yet: give --join-token")
        for path in (options.state_path, options.checkpoint_path):
            if (why := users.unreachable(path)) and not can_open_ways():
                return _fail(f"{why}, and this host lets no mount be made to go around that")
        return asyncio.run(_run(options))
    finally:
        os.close(held)


async def _run(options: AgentOptions) -> int:
    devices = open_device_set(options)
    who = load_identity(options)
    parts = assemble(options, devices, who)
    loop = AgentLoop(parts, ServiceClient(options.server, who.node_token))
    try:
        await loop.run()
    except EndRequestedError as request:
        if request.stop_attempts:
            await loop.stop_attempts("the agent was told to end", None)
            await loop.last_sync()
        log.info("ended; %s attempts go on without this agent", len(parts.supervisor.attempts.runs))
    except FencedError:
        log.error("another agent has registered as node %s: stopping all here", options.name)
        await loop.stop_attempts("fenced", 0.0)
        return EXIT_FENCED
    finally:
        await loop.close()
        parts.journal.close()
        devices.close()
    return 0


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _fail(why: str) -> int:
    sys.stderr.write(f"fairwatt-agent: {why}\n")
    return EXIT_CANNOT_START


if __name__ == "__main__":
    sys.exit(main())
