"""The real nginx with the configuration of deploy/, in front of servers of a test."""

import os
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scheduler_service.embedded.ports import LOOPBACK, free_port
from scheduler_service.embedded.program import Program, running

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "deploy" / "nginx" / "fairwatt.conf"
BODY_S = 2
CONNECTIONS = 10


def nginx() -> str | None:
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def site(
    text: str, directory: Path, *, port: int, apis: Sequence[int], doors: Sequence[int]
) -> str:
    """The published configuration with the test's ports, certificate, and smaller limits."""
    text = text.replace("listen 443 ssl;", f"listen {LOOPBACK}:{port} ssl;")
    text = text.replace("/etc/ssl/fairwatt.pem", str(directory / "cert.pem"))
    text = text.replace("/etc/ssl/private/fairwatt.key", str(directory / "key.pem"))
    text = text.replace("client_body_timeout 10s;", f"client_body_timeout {BODY_S}s;")
    text = text.replace("fairwatt_callers 100;", f"fairwatt_callers {CONNECTIONS};")
    text = text[: text.rindex("\nserver {")]
    for name, ports in (("api", apis), ("door", doors)):
        servers = "".join(
            f"    server {LOOPBACK}:{each} max_fails=2 fail_timeout=5s;\n" for each in ports
        )
        text = re.sub(
            rf"(upstream fairwatt_{name} {{\n    least_conn;\n)(    server [^\n]*\n)+",
            lambda found: found.group(1) + servers,  # noqa: B023 - used at once
            text,
        )
    return text


_MAIN = """
daemon off;
{user}
pid {home}/nginx.pid;
error_log {home}/error.log;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {home}/body;
    proxy_temp_path {home}/proxy;
    fastcgi_temp_path {home}/fastcgi;
    uwsgi_temp_path {home}/uwsgi;
    scgi_temp_path {home}/scgi;
    include {home}/fairwatt.conf;
}}
"""


@contextmanager
def proxied(home: Path, *, apis: Sequence[int], doors: Sequence[int]) -> Iterator[str]:
    """The address at which nginx passes requests on."""
    home.mkdir()
    port, program = free_port(), nginx()
    assert program is not None
    _certificate(home)
    (home / "fairwatt.conf").write_text(
        site(SITE.read_text(), home, port=port, apis=apis, doors=doors)
    )
    # As root its workers would be another user, who may not enter the test's directory.
    user = "user root;" if os.geteuid() == 0 else ""
    (home / "nginx.conf").write_text(_MAIN.format(home=home, user=user))
    argv = (program, "-e", f"{home}/error.log", "-p", str(home), "-c", f"{home}/nginx.conf")
    listening = Program("nginx", argv, cwd=home, ready=lambda pid: _listens(port))
    with running(listening, home / "log"):
        yield f"https://{LOOPBACK}:{port}"


def _certificate(home: Path) -> None:
    subprocess.run(
        [*("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
         *("-subj", "/CN=localhost", "-keyout", str(home / "key.pem")),
         *("-out", str(home / "cert.pem"))],
        check=True, capture_output=True,
    )  # fmt: skip


def _listens(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port), 1).close()
    except OSError:
        return False
    return True


def connect(port: int) -> ssl.SSLSocket:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(socket.create_connection((LOOPBACK, port), 30))
