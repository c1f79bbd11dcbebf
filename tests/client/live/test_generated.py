"""Small programs of clients made from the published schema: each submits, waits, reads the cost."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from scheduler_service.settings import BASE_DIR
from tests.client.live.conftest import Service

pytestmark = pytest.mark.process
EXAMPLES = BASE_DIR / "examples" / "generated"
LONGEST_S = 240.0


def ran(*words: str | Path, there: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=there,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )


def made(done: subprocess.CompletedProcess[str]) -> str:
    """What it printed; a failure and a warning are both failures."""
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    # npm remarks upon the configuration of the machine, which is not ours.
    own = [line for line in said.splitlines() if not line.startswith("npm warn")]
    assert "warning" not in "\n".join(own).lower(), said
    return done.stdout


def charged(service: Service, output: str) -> None:
    """The program's own words agree with the service."""
    told: dict[str, Any] = json.loads(output.splitlines()[-1])
    with service.client() as client:
        assert told["state"] == client.job(told["id"]).state == "succeeded"
    # A job of a moment may not be on the ledger yet: then the receipt has no sums.
    assert told["cost_of"] == told["id"]
    assert isinstance(told["totals"], list)


def arguments(service: Service) -> tuple[str, str, str]:
    return service.url, str(service.demo["tenant_token"]), "demo"


@pytest.fixture(scope="module")
def schema(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As published; generators that fetch it themselves have less patience than a busy machine."""
    published = httpx2.get(f"{service.url}/api/v1/schema/?format=json", timeout=LONGEST_S)
    file = tmp_path_factory.mktemp("schema") / "schema.json"
    file.write_bytes(published.raise_for_status().content)
    return file


def test_a_program_of_openapi_python_client(service: Service, schema: Path, tmp_path: Path) -> None:
    tools = Path(sys.executable).parent
    generate = (tools / "openapi-python-client", "generate", "--fail-on-warning", "--meta", "none")
    # The generator formats what it wrote with ruff, which it looks for on the path.
    path = f"{tools}:{os.environ['PATH']}"
    wanted = ("--path", schema, "--output-path", "fairwatt_client")
    made(ran(*generate, *wanted, there=tmp_path, PATH=path))
    shutil.copy(EXAMPLES / "typed_submit.py", tmp_path)
    ended = ran(sys.executable, "typed_submit.py", *arguments(service), there=tmp_path)
    charged(service, made(ended))


def test_a_program_of_openapi_typescript(service: Service, schema: Path, tmp_path: Path) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("needs node and npm on the path")
    there = tmp_path / "typescript"
    shutil.copytree(
        EXAMPLES / "typescript", there, ignore=shutil.ignore_patterns("node_modules", "built")
    )
    installed = ran(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", there=there)
    if installed.returncode:
        pytest.skip("needs a package index for npm, or its cache")
    made(ran(npm, "run", "generate", "--", schema, there=there))
    made(ran(npm, "run", "build", there=there))
    charged(service, made(ran(node, "built/main.js", *arguments(service), there=there)))
