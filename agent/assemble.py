"""Puts a node's agent together from what the command line says."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent import __version__
from agent.clock import Clock, boot_id, boot_s
from agent.devices.base import Device, DeviceSet
from agent.devices.choose import open_devices
from agent.files.archive_cache import ArchiveCache
from agent.files.artifacts import Artifacts
from agent.files.downloads import ArchiveDownloads
from agent.files.file_tasks import FileTasks
from agent.files.preparation import WorkdirPreparer
from agent.housekeeping import Housekeeping
from agent.measure.gpu_controls import GpuControls
from agent.measure.sampler import GpuSampler
from agent.remember.attempt_store import AttemptStore
from agent.remember.disk import DiskSpace
from agent.remember.journal import Journal
from agent.remember.lease import RunLease
from agent.remember.state_dir import StateDir
from agent.run import host
from agent.run.adjust import AttemptAdjuster
from agent.run.attempt_gpus import AttemptGpus
from agent.run.attempts import NodeAttempts
from agent.run.cpus import CpuPool
from agent.run.host import HostTools
from agent.run.launch import Launcher
from agent.run.shims import Shims
from agent.run.shown_folders import shown_folders
from agent.run.start import AttemptStarter
from agent.run.stop import AttemptStopper
from agent.run.supervisor import AttemptSupervisor
from agent.run.tenant_users import TenantUsers, UidRange, User
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
    tenant_uids: UidRange | None = None
    trust_tenants: bool = False
    archive_cache_bytes: int = 8 * 2**30
    shown: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        return f"Options(server={self.server!r}, name={self.name!r})"

    @property
    def state_dir(self) -> StateDir:
        return StateDir(self.state_path, self.checkpoint_path)

    @property
    def users(self) -> TenantUsers:
        shared = User.named(self.run_as) if self.run_as else None
        return TenantUsers(self.tenant_uids, shared, trusted=self.trust_tenants)


def open_device_set(options: AgentOptions) -> DeviceSet:
    return open_devices(
        options.devices,
        state_dir=options.state_path,
        node=options.name,
        boot_id=boot_id(),
        clock=boot_s,
    )


def probe_node(options: AgentOptions, devices: DeviceSet) -> tuple[HostTools, Inventory]:
    found = host.probe(
        devices,
        want_containers=options.container,
        users=options.users,
        state=options.state_path,
        shown=shown_folders(options.shown),
    )
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
    downloads: ArchiveDownloads
    artifacts: Artifacts
    journal: Journal
    clock: Clock


def assemble(options: AgentOptions, device_set: DeviceSet, who: Identity) -> AgentParts:
    state_dir, this_boot = options.state_dir, boot_id()
    tools, inventory = probe_node(options, device_set)
    journal = Journal(state_dir.journal)
    devices: Mapping[str, Device] = {gpu.inventory.uuid: gpu for gpu in device_set.devices}
    sampler = GpuSampler(devices, state_dir.meters, this_boot, boot_s)
    controls = GpuControls(devices, journal)
    lease, log_upload = RunLease(state_dir.lease, this_boot, boot_s), LogUpload()
    disk, shims, users = DiskSpace(state_dir.state), Shims(), options.users
    store, tasks = AttemptStore(journal), FileTasks(shims)
    cache = ArchiveCache(state_dir.archives, options.archive_cache_bytes, disk)
    downloads = ArchiveDownloads(cache)
    artifacts = Artifacts(store, state_dir, disk, tasks, users)
    supervisor = supervise(
        NodeAttempts(store, disk),
        state_dir=state_dir,
        gpus=AttemptGpus(devices, sampler, controls, boot_s),
        launcher=Launcher(state_dir, tools, options.name, who.install_id, users, shims),
        pool=CpuPool(_cpus(inventory, tools), _cpus_by_numa_node(tools)),
        preparer=WorkdirPreparer(downloads, tasks, users),
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
    housekeeping = Housekeeping(journal, store, controls, log_upload, artifacts, state_dir, boot_s)
    return AgentParts(
        messages,
        supervisor,
        sampler,
        log_upload,
        housekeeping,
        downloads,
        artifacts,
        journal,
        boot_s,
    )


def supervise(
    attempts: NodeAttempts,
    *,
    state_dir: StateDir,
    gpus: AttemptGpus,
    launcher: Launcher,
    pool: CpuPool,
    preparer: WorkdirPreparer,
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
        preparer,
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
