"""Puts a node's agent together from what the command line says."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent import __version__
from agent.clock import Clock, boot_id, boot_s
from agent.devices.base import Device, DeviceSet
from agent.devices.choose import open_devices
from agent.housekeeping import Housekeeping
from agent.measure.gpu_controls import GpuControls
from agent.measure.sampler import GpuSampler
from agent.remember.attempt_store import AttemptStore
from agent.remember.journal import Journal
from agent.remember.lease import RunLease
from agent.remember.state_dir import StateDir
from agent.run import host
from agent.run.adjust import AttemptAdjuster
from agent.run.attempt_gpus import AttemptGpus
from agent.run.attempts import NodeAttempts
from agent.run.cpus import CpuPool
from agent.run.host import HostTools
from agent.run.launch import Launcher, User
from agent.run.start import AttemptStarter
from agent.run.stop import AttemptStopper
from agent.run.supervisor import AttemptSupervisor
from agent.talk import identity
from agent.talk.identity import Identity
from agent.talk.log_upload import LogUpload
from agent.talk.messages import NodeMessages
from agent.wire import Inventory


@dataclass(frozen=True, slots=True)
class AgentOptions:
    server: str
    name: str
    state_path: Path
    checkpoint_path: Path
    devices: str
    join_token: str | None
    address: str | None
    container: bool
    run_as: str | None

    def __repr__(self) -> str:
        return f"Options(server={self.server!r}, name={self.name!r})"

    @property
    def state_dir(self) -> StateDir:
        return StateDir(self.state_path, self.checkpoint_path)


def open_device_set(options: AgentOptions) -> DeviceSet:
    return open_devices(
        options.devices,
        state_dir=options.state_path,
        node=options.name,
        boot_id=boot_id(),
        clock=boot_s,
    )


def probe_node(options: AgentOptions, devices: DeviceSet) -> tuple[HostTools, Inventory]:
    found = host.probe(devices, want_containers=options.container)
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


@dataclass(frozen=True, slots=True)
class AgentParts:
    messages: NodeMessages
    supervisor: AttemptSupervisor
    sampler: GpuSampler
    log_upload: LogUpload
    housekeeping: Housekeeping
    journal: Journal
    clock: Clock


def assemble(options: AgentOptions, device_set: DeviceSet, who: Identity) -> AgentParts:
    state_dir, this_boot = options.state_dir, boot_id()
    tools, inventory = probe_node(options, device_set)
    journal = Journal(state_dir.journal)
    devices: Mapping[str, Device] = {gpu.inventory.uuid: gpu for gpu in device_set.devices}
    sampler = GpuSampler(devices, state_dir.meters, this_boot, boot_s)
    controls = GpuControls(devices, journal)
    user = User.named(options.run_as) if options.run_as else None
    lease, log_upload = RunLease(state_dir.lease, this_boot, boot_s), LogUpload()
    supervisor = supervise(
        NodeAttempts(AttemptStore(journal)),
        state_dir=state_dir,
        gpus=AttemptGpus(devices, sampler, controls, boot_s),
        launcher=Launcher(state_dir, tools, options.name, who.install_id, user),
        pool=CpuPool(_cpus(inventory, tools), _cpus_by_numa_node(tools)),
        lease=lease,
        boot_id=this_boot,
        clock=boot_s,
    )
    messages = NodeMessages(
        identity=who,
        inventory=inventory,
        join_token=options.join_token,
        state_dir=state_dir,
        supervisor=supervisor,
        log_upload=log_upload,
        device_set=device_set,
        lease=lease,
        boot_id=this_boot,
        clock=boot_s,
    )
    store = supervisor.attempts.store
    housekeeping = Housekeeping(journal, store, controls, log_upload, state_dir, boot_s)
    return AgentParts(messages, supervisor, sampler, log_upload, housekeeping, journal, boot_s)


def supervise(
    attempts: NodeAttempts,
    *,
    state_dir: StateDir,
    gpus: AttemptGpus,
    launcher: Launcher,
    pool: CpuPool,
    lease: RunLease,
    boot_id: str,
    clock: Clock,
) -> AttemptSupervisor:
    adjuster = AttemptAdjuster(attempts, gpus, launcher, pool)
    stopper = AttemptStopper(
        attempts, gpus, launcher, pool, adjuster, lease, boot_id=boot_id, clock=clock
    )
    starter = AttemptStarter(
        attempts,
        state_dir,
        gpus,
        launcher,
        pool,
        adjuster,
        stopper,
        lease,
        boot_id=boot_id,
        clock=clock,
    )
    return AttemptSupervisor(attempts, state_dir, gpus, launcher, adjuster, stopper, starter)


def load_identity(options: AgentOptions) -> Identity:
    return identity.load(options.state_dir.identity)


def _cpus(inventory: Inventory, tools: HostTools) -> tuple[int, ...]:
    """An emulated host's CPUs are numbered from 0; a real one's are those the agent may use."""
    return tools.cpus if inventory.cpus == len(tools.cpus) else tuple(range(inventory.cpus))


def _cpus_by_numa_node(tools: HostTools) -> dict[int, frozenset[int]]:
    return {node.node: frozenset(node.cpus) for node in tools.numa}
