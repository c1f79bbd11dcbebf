"""Messages with everything filled in, for tests that change one thing."""

from agent.wire import (
    Archive,
    ArtifactPath,
    AttemptEnergy,
    AttemptReport,
    Cancel,
    Desired,
    DesiredAttempt,
    End,
    Features,
    Fetched,
    Fetching,
    Gang,
    GpuInventory,
    GpuStatus,
    Inventory,
    MemoryLimit,
    Mount,
    NumaNode,
    Processes,
    Register,
    SampleReport,
    SecretValue,
    State,
    Sync,
    Telemetry,
    Wall,
    Workdir,
)

GPU = "GPU-7d1b2c3e-0000-5000-8000-000000000001"

DESIRED_ATTEMPT = DesiredAttempt(
    attempt_id=7,
    fence=70,
    job_id=3,
    argv=("python", "train.py", "--name", "with space; $(not a shell)"),
    gpu_uuids=(GPU,),
    cpus=2,
    memory_mib=1024,
    checkpoint_key="job-3",
    env={"LR": "0.1"},
    image="registry.example/train:1",
    clock_mhz=1200,
    power_cap_w=250,
    gang=Gang(4, 8, 4, 1, 2, "10.0.0.1", 29500),
    tenant_id=4,
    processes=Processes.PER_GPU,
    workdir=Workdir(archive=Archive("0" * 64, 2048)),
    mounts=(Mount("datasets", "/srv/datasets", "/data"),),
    artifacts=(ArtifactPath("model", "out/model.pt"),),
    secrets=(SecretValue("wandb", "s3cret", variable="WANDB_API_KEY"),),
    time_limit_s=3600.0,
    pids_limit=4096,
)

DESIRED = Desired(
    next_sync_s=1.0,
    node_lease_s=10.0,
    run_lease_s=120.0,
    attempts=(DESIRED_ATTEMPT,),
    cancels=(Cancel(5, 50, "preempted", 10.0),),
    acks=(),
)

REPORT = AttemptReport(
    attempt_id=7,
    fence=70,
    state=State.ENDED,
    ran_s=12.5,
    end=End.EXITED,
    exit_code=1,
    ended_age_s=0.5,
    detail="exit code 1",
    progress_step=40,
    checkpoint_step=35,
    checkpoint_age_s=3.0,
    energy=(AttemptEnergy(GPU, 10, 20),),
)

FETCHING = AttemptReport(
    attempt_id=8, fence=80, state=State.STARTING, fetching=Fetching(Fetched.ARCHIVE, 100, 2048)
)

SYNC = Sync(
    epoch=2,
    sequence=9,
    boot_id="b0071d",
    attempts=(REPORT, FETCHING),
    gpus=(GpuStatus(uuid=GPU, healthy=True, energy_mj=123, foreign_pids=(4242,)),),
)

REGISTER = Register(
    install_id="0123456789abcdef",
    join_token="fw_j_0123456789",
    inventory=Inventory(
        name="node-1",
        address="10.0.0.1",
        agent_version="0.1.0",
        driver="570.1",
        boot_id="b0071d",
        cpus=8,
        memory_mib=65536,
        gpus=(
            GpuInventory(
                uuid=GPU,
                index=0,
                type_name="A100-SXM4-80GB",
                memory_mib=81920,
                max_w=400,
                idle_w=55,
                clocks_mhz=(210, 1410),
            ),
        ),
        features=Features(
            cgroup=False,
            bubblewrap=True,
            affinity=True,
            memory_limit=MemoryLimit.RLIMIT,
            wall=Wall.UID,
            workloads=True,
            git=True,
        ),
        numa=(NumaNode(0, (0, 1, 2, 3), 65536),),
    ),
)

TELEMETRY = Telemetry(
    epoch=2,
    boot_id="b0071d",
    sent_boot_ms=2000,
    samples=(SampleReport(uuid=GPU, sequence=1, boot_ms=1000, energy_mj=55_000, power_mw=55_000),),
)
