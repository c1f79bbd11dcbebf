"""`python -m lab screenshots [NAME…]`: pictures of the console, into docs/images/console/."""

import argparse
import os
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from lab.benchmarks.harness.database import database

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from lab.screenshots.shots import Shot

WHERE = Path(__file__).resolve().parents[2] / "docs" / "images" / "console"
WIDTH, HEIGHT, TALLEST = 1200, 900, 1400
PHONE = 390
COLOURS = 128


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab screenshots")
    parser.add_argument("names", nargs="*", help="some of the pictures; all unless given")
    parser.add_argument("--into", type=Path, default=WHERE)
    given = parser.parse_args(arguments)
    with database():
        _take(set(given.names), given.into)
    return 0


def _take(names: set[str], into: Path) -> None:
    # Only now: models can be imported once Django is set up.
    from django.utils import timezone  # noqa: PLC0415

    from lab.screenshots.browser import browser, session_of  # noqa: PLC0415
    from lab.screenshots.server import server  # noqa: PLC0415
    from lab.screenshots.shots import shots  # noqa: PLC0415
    from lab.screenshots.story.story import tell  # noqa: PLC0415

    story = tell(now=timezone.now())
    sessions = {False: session_of(story.operator), True: session_of(story.member)}
    wanted = [shot for shot in shots(story) if not names or shot.name in names]
    into.mkdir(parents=True, exist_ok=True)
    # The driver has an event loop of its own, beside which Django would refuse to ask anything.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with server() as address, browser() as opened:
        for shot in wanted:
            data = _picture(opened, address, sessions[shot.of_member], shot)
            (into / f"{shot.name}.png").write_bytes(data)
            sys.stderr.write(f"{shot.name}.png {len(data) // 1024} KiB\n")


def _picture(opened: "Browser", address: str, session: str, shot: "Shot") -> bytes:
    from lab.screenshots.browser import signed_in  # noqa: PLC0415

    width = PHONE if shot.phone else WIDTH
    context = signed_in(
        opened,
        address,
        session,
        viewport={"width": width, "height": HEIGHT},
        color_scheme="dark" if shot.dark else "light",
    )
    page = context.new_page()
    page.goto(shot.path, wait_until="networkidle")
    height = min(TALLEST, int(page.evaluate("document.documentElement.scrollHeight")))
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_timeout(400)
    taken = page.screenshot()
    context.close()
    return _small(taken)


def _small(taken: bytes) -> bytes:
    """A palette is enough for flat colours, and a third of the bytes."""
    from PIL import Image  # noqa: PLC0415

    with Image.open(BytesIO(taken)) as picture:
        drawn = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        out = BytesIO()
        drawn.save(out, "PNG", optimize=True)
    return out.getvalue()
