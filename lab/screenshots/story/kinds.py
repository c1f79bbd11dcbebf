"""What the tenants run, again and again."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
    """`every_h` and `first_h` say when one is submitted, hours before the end of the story."""

    name: str
    tenant: str
    gpus: int
    hours: float
    every_h: float
    first_h: float
    labels: dict[str, str]
    fields: dict[str, Any]


def _kind(name: str, tenant: str, *times: float, project: str, **fields: Any) -> Kind:
    """`times` are GPUs, hours, and the two hours of its submission."""
    gpus, hours, every_h, first_h = times
    return Kind(name, tenant, int(gpus), hours, every_h, first_h, {"project": project}, fields)


KINDS = (
    _kind("vit-22b-pretrain", "vision", 16, 30, 99, 21, project="foundation",
          gpu_types=["H100"], priority=70, work_total=40_000),
    _kind("segment-finetune", "vision", 4, 3.5, 3, 26, project="segmentation"),
    _kind("augment-sweep", "vision", 2, 1.2, 2, 25, project="segmentation"),
    _kind("whisper-distill", "speech", 8, 9, 11, 24, project="asr",
          gpu_types=["A100"], work_total=12_000),
    _kind("tts-vocoder", "speech", 2, 5, 4, 27, project="voices"),
    _kind("fold-batch", "biology", 8, 4, 4.5, 26, project="folding"),
    _kind("dock-screen", "biology", 4, 2, 3, 20, project="docking"),
    _kind("ranker-nightly", "ranking", 8, 2.5, 6, 22, project="ranker", priority=80),
    _kind("embedding-refresh", "ranking", 1, 0.8, 1.5, 26, project="ranker",
          priority=40),
)  # fmt: skip
# Those that come last wait when the pictures are taken, each for another reason.
LAST = (
    _kind("llm-eval-grid", "ranking", 64, 6, 99, 0.7, project="assistant"),
    _kind("diffusion-xl", "vision", 16, 12, 99, 0.6, project="foundation",
          gpu_types=["H100"]),
    _kind("fold-proteome", "biology", 16, 8, 99, 0.5, project="folding"),
    _kind("asr-multilingual", "speech", 24, 10, 99, 0.4, project="asr",
          gpu_types=["A100"]),
    _kind("pose-b200", "vision", 8, 5, 99, 0.3, project="pose", gpu_types=["B200"]),
    _kind("click-model", "ranking", 2, 3, 99, 0.3, project="ranker", held=True),
    _kind("depth-night", "vision", 8, 4, 99, 0.2, project="segmentation"),
    _kind("speaker-id", "speech", 4, 2, 99, 0.2, project="voices"),
)  # fmt: skip
