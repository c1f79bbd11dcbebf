"""What is submitted: trainings of both tenants, one that is more urgent, a gang, and a failure."""

from dataclasses import dataclass, field
from typing import Any

from fairwatt import JobSpec

from scheduler_service.settings import BASE_DIR

SCRIPTS = BASE_DIR / "examples"
POLICY, PARAMETERS = "priority", {"preempt": True, "min_run_s": 5}


@dataclass(frozen=True)
class Task:
    name: str
    tenant: str
    script: str
    arguments: str
    gpus: int
    gpu_type: str
    estimated_run_s: int
    fields: dict[str, Any] = field(default_factory=dict)

    def spec(self) -> JobSpec:
        script = str(SCRIPTS / f"{self.script}.py")
        return JobSpec(
            name=f"demo-{self.name}",
            argv=["python3", "-u", script, *self.arguments.split()],
            gpus=self.gpus,
            gpu_types=[self.gpu_type],
            estimated_run_s=self.estimated_run_s,
            **self.fields,
        )


# The first two fill both V100 nodes, so that the urgent one has to take a node from one of them.
_LONG = "--steps 300 --pause-s 0.06"
FIRST = (
    Task("low", "acme", "train_gpu_like", _LONG, 8, "V100", 25, {"span": "node", "priority": 10}),
    Task(
        "middle", "acme", "train_gpu_like", _LONG, 8, "V100", 25, {"span": "node", "priority": 20}
    ),
    Task(
        "gang",
        "globex",
        "gang",
        "--steps 100 --step-s 0.05",
        10,
        "A100",
        8,
        {"processes": "per_gpu"},
    ),
    Task("input-bound", "acme", "train_cpu_bound", "--steps 60 --batch 16", 1, "A100", 2),
    Task("broken-data", "globex", "fail_midway", "--steps 60", 1, "A100", 6),
)
URGENT = (
    Task("urgent", "acme", "train_gpu_like", "--steps 150 --pause-s 0.04", 8, "V100", 8,
         {"span": "node", "priority": 90}),
)  # fmt: skip
