"""A callback for PyTorch Lightning: progress, checkpoints, and leaving in time.

    trainer = Trainer(
        default_root_dir=fairwatt.checkpoint_dir(), callbacks=[LightningCallback()], max_epochs=90
    )
    trainer.fit(model, ckpt_path=LightningCallback.last_checkpoint())

Written against Lightning 2's documented hooks and tested with a trainer that only looks like one.
"""

from typing import TYPE_CHECKING, Any

from fairwatt import in_job
from fairwatt.frameworks.steps import StepReporter

if TYPE_CHECKING:
    Callback = object
else:
    try:
        from lightning.pytorch.callbacks import Callback
    except ImportError:
        from pytorch_lightning.callbacks import Callback

NAME = "fairwatt-last.ckpt"


class LightningCallback(Callback):
    """Says how far the training is; asked to leave, it saves a checkpoint and stops the trainer."""

    def __init__(self, *, every_s: float = 1.0) -> None:
        super().__init__()
        self._every_s = every_s
        self._reporter: StepReporter | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._reporter = StepReporter(first_process=trainer.is_global_zero, every_s=self._every_s)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if self._reporter is not None and self._reporter.step(trainer.global_step):
            trainer.save_checkpoint(in_job.checkpoint_dir() / NAME)
            self._reporter.saved(trainer.global_step)
            trainer.should_stop = True

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        if self._reporter is not None:
            self._reporter.step(trainer.global_step, last=True)

    @staticmethod
    def last_checkpoint() -> str | None:
        """Where an earlier attempt left off; None in the first."""
        path = in_job.checkpoint_dir() / NAME
        return str(path) if path.exists() else None
