"""What the command loads before it is known what is asked: every start pays for it."""

import json
import subprocess
import sys

import pytest

from tests.client.live.conftest import command_env

pytestmark = pytest.mark.process
HEAVY = {"httpx2", "msgspec", "rich", "yaml", "asyncio", "ssl", "fairwatt.synchronous"}
LOADED = """
import json, runpy, sys
sys.argv = ["fairwatt", *{words!r}]
try:
    runpy.run_module("fairwatt.cli.main", run_name="__main__")
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)))
"""


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (["--version"], set()),
        (["--help"], set()),
        (["ls", "--help"], HEAVY - {"rich", "yaml"}),
        (["submit", "--help"], HEAVY - {"rich"}),
    ],
)
def test_only_what_is_needed_is_loaded(
    words: list[str], allowed: set[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(words=words)],
        env=command_env(home, {}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert not (HEAVY - allowed) & set(json.loads(done.stdout.splitlines()[-1]))
