"""A callback for Hugging Face's Trainer: progress, checkpoints, and leaving in time.

    arguments = TrainingArguments(output_dir=str(fairwatt.checkpoint_dir()), save_steps=500)
    trainer = Trainer(model, arguments, callbacks=[TransformersCallback()])
    trainer.train(resume_from_checkpoint=TransformersCallback.has_checkpoint())

Written against the documented TrainerCallback and tested with a trainer that only looks like one.
"""

from typing import TYPE_CHECKING, Any

from fairwatt import in_job
from fairwatt.frameworks.steps import StepReporter

if TYPE_CHECKING:
    TrainerCallback = object
else:
    from transformers import TrainerCallback


class TransformersCallback(TrainerCallback):
    """Says how far the training is; asked to leave, it has the trainer save and stop."""

    def __init__(self, *, every_s: float = 1.0) -> None:
        self._every_s = every_s
        self._reporter: StepReporter | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._reporter = StepReporter(
            first_process=state.is_world_process_zero, every_s=self._every_s
        )

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        if self._reporter is not None and self._reporter.step(state.global_step):
            control.should_save = control.should_training_stop = True
        return control

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._reporter is not None:
            self._reporter.saved(state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._reporter is not None:
            self._reporter.step(state.global_step, last=True)

    @staticmethod
    def has_checkpoint() -> bool:
        """Whether an earlier attempt left one: what `resume_from_checkpoint` takes."""
        return any(in_job.checkpoint_dir().glob("checkpoint-*"))
