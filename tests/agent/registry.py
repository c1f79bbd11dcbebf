"""A registry with one image of one static program, by HTTP."""

import gzip
import hashlib
import http.server
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NAME = "test/busybox:1"
OCI = "application/vnd.oci.image"
APPLETS = ("sh", "cat", "ls", "id", "env", "echo", "tail", "sleep")


@contextmanager
def registry(busybox: Path) -> Iterator[str]:
    """Yields the name of its image."""
    blobs = _image(busybox)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            wanted = self.path.rpartition("/")[2]
            kind, data = blobs.get(wanted, ("text/plain", b"{}"))
            self.send_response(200 if wanted in blobs or self.path == "/v2/" else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Docker-Content-Digest", _digest(data))
            self.end_headers()
            if body:
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}/{NAME}"
        server.shutdown()


def _image(busybox: Path) -> dict[str, tuple[str, bytes]]:
    """What is asked for by digest, and the manifest also by its tag."""
    plain = _layer(busybox)
    layer = gzip.compress(plain, mtime=0)
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Env": ["FROM_IMAGE=yes"]},
            "rootfs": {"type": "layers", "diff_ids": [_digest(plain)]},
        }
    ).encode()
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": _described(f"{OCI}.config.v1+json", config),
            "layers": [_described(f"{OCI}.layer.v1.tar+gzip", layer)],
        }
    ).encode()
    found = {
        _digest(layer): ("application/octet-stream", layer),
        _digest(config): ("application/octet-stream", config),
    }
    told = (f"{OCI}.manifest.v1+json", manifest)
    return found | {_digest(manifest): told, NAME.rpartition(":")[2]: told}


def _layer(busybox: Path) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for folder in ("bin", "etc", "tmp", "proc", "sys", "dev", "var", "var/tmp"):
            member = tarfile.TarInfo(folder)
            member.type, member.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(member)
        program = tarfile.TarInfo("bin/busybox")
        program.mode, program.size = 0o755, busybox.stat().st_size
        with busybox.open("rb") as file:
            archive.addfile(program, file)
        for name in APPLETS:
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(link)
    return made.getvalue()


def _described(kind: str, data: bytes) -> dict[str, object]:
    return {"mediaType": kind, "digest": _digest(data), "size": len(data)}


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
