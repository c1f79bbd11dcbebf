"""Puts a node's agent together from what the command line says."""

from dataclasses import dataclass
from pathlib import Path

from agent import __version__, host, identity
from agent.book import Book
from agent.clock import boot_id, boot_s
from agent.controls import Controls
from agent.cpus import CpuPool
from agent.devices.base import DeviceSet
from agent.devices.choose import open_devices
from agent.host import Host
from agent.identity import Identity
from agent.journal import Journal
from agent.launch import Launcher, User
from agent.layout import Layout
from agent.lease import Lease
from agent.node import Node
from agent.sampler import Sampler
from agent.supervisor import Supervisor
from agent.wire import Inventory


@dataclass(frozen=True, slots=True)
class Options:
    server: str
    name: str
    state_dir: Path
    checkpoint_dir: Path
    devices: str
    join_token: str | None
    address: str | None
    container: bool
    run_as: str | None

    def __repr__(self) -> str:
        return f"Options(server={self.server!r}, name={self.name!r})"

    @property
    def layout(self) -> Layout:
        return Layout(self.state_dir, self.checkpoint_dir)


def open_device_set(options: Options) -> DeviceSet:
    return open_devices(
        options.devices,
        state_dir=options.state_dir,
        node=options.name,
        boot_id=boot_id(),
        clock=boot_s,
    )


def look_around(options: Options, devices: DeviceSet) -> tuple[Host, Inventory]:
    found = host.look(devices, want_containers=options.container)
    claims = devices.host
    inventory = Inventory(
        name=options.name,
        address=options.address or host.address_towards(options.server),
        agent_version=__version__,
        driver=devices.driver,
        boot_id=boot_id(),
        cpus=claims.cpus if claims else len(found.cpus),
        memory_mib=claims.memory_mib if claims else host.memory_mib(),
        gpus=tuple(device.inventory for device in devices.devices),
        features=found.features,
        numa=found.numa,
        host_idle_w=claims.idle_w if claims else None,
        host_peak_w=claims.peak_w if claims else None,
    )
    return found, inventory


def assemble(options: Options, device_set: DeviceSet, who: Identity) -> Node:
    layout, this_boot = options.layout, boot_id()
    found, inventory = look_around(options, device_set)
    journal = Journal(layout.journal)
    devices = {device.inventory.uuid: device for device in device_set.devices}
    sampler = Sampler(devices, layout.meters, this_boot, boot_s)
    controls = Controls(devices, journal)
    user = User.named(options.run_as) if options.run_as else None
    near = {node.node: frozenset(node.cpus) for node in found.numa}
    supervisor = Supervisor(
        layout=layout,
        book=Book(journal),
        devices=devices,
        sampler=sampler,
        controls=controls,
        launcher=Launcher(layout, found, options.name, who.install_id, user),
        lease=Lease(layout.lease, this_boot, boot_s),
        pool=CpuPool(_cpus(inventory, found), near),
        boot_id=this_boot,
        clock=boot_s,
    )
    return Node(
        identity=who,
        inventory=inventory,
        join_token=options.join_token,
        layout=layout,
        journal=journal,
        supervisor=supervisor,
        sampler=sampler,
        controls=controls,
        device_set=device_set,
        boot_id=this_boot,
        clock=boot_s,
    )


def load_identity(options: Options) -> Identity:
    return identity.load(options.layout.identity)


def _cpus(inventory: Inventory, found: Host) -> tuple[int, ...]:
    """An emulated host's CPUs are numbered from 0; a real one's are those the agent may use."""
    return found.cpus if inventory.cpus == len(found.cpus) else tuple(range(inventory.cpus))
