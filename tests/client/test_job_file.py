"""Job files: what they may say, and what is said about one that is wrong."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import fairwatt
import pytest
from fairwatt.errors import Fault
from fairwatt.job_file import JobFileError, load, read_job_file

from tests.client.examples import run_examples

YAML = """\
name: resnet
argv: [python3, train.py]
gpus: 4
gpu_types: [A100]
env:
  EPOCHS: 90
  AMP: true
deadline_at: 2026-11-20T08:00:00Z
tardiness_price_per_h: "0.05"
depends_on:
  - {job: 12, kind: ended}
"""
TOML = """\
name = "resnet"
argv = ["python3", "train.py"]
gpus = 4
gpu_types = ["A100"]
deadline_at = 2026-11-20T08:00:00Z
tardiness_price_per_h = "0.05"
depends_on = [{job = 12, kind = "ended"}]

[env]
EPOCHS = 90
AMP = true
"""


def written(directory: Path, name: str, text: str) -> Path:
    path = directory / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(("name", "text"), [("job.yaml", YAML), ("job.toml", TOML)])
def test_both_formats_say_the_same(name: str, text: str, tmp_path: Path) -> None:
    assert read_job_file(written(tmp_path, name, text)) == fairwatt.JobSpec(
        name="resnet",
        argv=["python3", "train.py"],
        gpus=4,
        gpu_types=["A100"],
        env={"EPOCHS": "90", "AMP": "true"},
        deadline_at=datetime(2026, 11, 20, 8, tzinfo=UTC),
        tardiness_price_per_h=Decimal("0.05"),
        depends_on=[fairwatt.Dependency(job=12, kind="ended")],
    )


@pytest.mark.parametrize(
    ("name", "text", "place", "words", "next_step"),
    [
        ("job.yaml", "argv: [true\ngpus: 1\n", "2:5", "expected ',' or ']'", "Mend the YAML"),
        ("job.yaml", "argv: ['x']\n\tgpus: 1\n", "2:1", "cannot start any token", "Mend"),
        ("job.toml", 'argv = ["x"\ngpus = 1\n', "2:1", "Unclosed array", "Mend the TOML"),
        ("job.yaml", "argv: ['x']\ngpuss: 1\n", "2:1", "no field `gpuss`", "Did you mean `gpus`?"),
        ("job.toml", 'argv = ["x"]\n gpuss = 1\n', "2:2", "no field `gpuss`", "mean `gpus`?"),
        ("job.yaml", "argv: ['x']\nqqqq: 1\n", "2:1", "no field `qqqq`", "There are: argv"),
        ("job.yaml", "argv: ['x']\ngpus: many\n", "2:1", "Expected `int | null`, got `str`", ""),
        ("job.yaml", "argv: ['x']\ndepends_on:\n - {job: x}\n", "3:5", "Expected `int`", ""),
        (
            "job.yaml",
            "argv: ['x']\ndepends_on:\n - {jobb: 1}\n",
            "3:5",
            "no field `jobb`",
            "Did you mean `job`?",
        ),
        ("job.yaml", "argv: python3 train.py\n", "1:1", "got `str`", "argv: [python3, train.py]"),
        ("job.yaml", "gpus: 1\n", "1:1", "missing required field `argv`", ""),
        ("job.yaml", "- 1\n", "1:1", "a map of fields", "Begin with `argv:`"),
        ("job.yaml", "", "1:1", "a map of fields", "Begin with `argv:`"),
    ],
)
def test_what_is_wrong_is_named_with_line_and_column(
    name: str, text: str, place: str, words: str, next_step: str, *, tmp_path: Path
) -> None:
    path = written(tmp_path, name, text)
    with pytest.raises(JobFileError) as caught:
        read_job_file(path)
    assert str(caught.value).startswith(f"{path}:{place}: ")
    assert words in str(caught.value)
    assert next_step in caught.value.next_step


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(JobFileError, match="There is no file"):
        read_job_file(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(JobFileError, match="cannot be read"):
        read_job_file(tmp_path / "bytes.yaml")


def test_what_the_service_refuses_is_said_at_the_lines_of_the_file(tmp_path: Path) -> None:
    file = load(written(tmp_path, "job.yaml", YAML))
    faults = [Fault("/gpus", "max_value", "Too many."), Fault("/env/EPOCHS", "x", "No.")]
    said = str(file.refused(faults))
    assert "job.yaml:3:1: Too many." in said
    assert "job.yaml:6:3: No." in said


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_examples(read_job_file.__doc__, {"fairwatt": fairwatt, "Path": Path})
