"""One holder per directory."""

import os
import subprocess
from pathlib import Path

import pytest

from scheduler_service.embedded import lock
from scheduler_service.embedded.errors import EmbeddedError


def test_the_second_holder_is_told_who_the_first_is(tmp_path: Path) -> None:
    with (
        lock.held(tmp_path, what="Thing"),
        pytest.raises(EmbeddedError, match=rf"Thing in {tmp_path} .* process {os.getpid()}\."),
        lock.held(tmp_path, what="Thing"),
    ):
        pass


def test_it_is_free_after_the_block_and_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), lock.held(tmp_path, what="Thing"):
        raise RuntimeError
    with lock.held(tmp_path, what="Thing"):
        pass


@pytest.mark.process
def test_a_child_that_inherited_it_keeps_it_after_the_parents_block(tmp_path: Path) -> None:
    with lock.held(tmp_path, what="Thing") as descriptor:
        child = subprocess.Popen(["sleep", "60"], pass_fds=[descriptor])
    (tmp_path / "lock").write_text("999999999")  # a holder that is dead
    try:
        with (
            pytest.raises(EmbeddedError, match="process 999999999"),
            lock.held(tmp_path, what="Thing", patience_s=0.1),
        ):
            pass
    finally:
        child.kill()
        child.wait()
    with lock.held(tmp_path, what="Thing"):
        pass


def test_the_directory_is_made(tmp_path: Path) -> None:
    with lock.held(tmp_path / "a" / "b", what="Thing"):
        assert (tmp_path / "a" / "b").is_dir()
