"""How the command ends: a sentence, the next step, and an exit code.

What is not expected keeps its traceback: hiding a fault of our own would help nobody. Only classes
are compared by name here, since importing all of them would cost every start.
"""

import os
import sys
from typing import Any

USAGE, UNREACHABLE, TOKEN, MISSING, TOO_LONG, INTERRUPTED = 2, 3, 4, 5, 124, 130
CODES = {
    "JobFileError": USAGE,
    "ProfileError": USAGE,
    "Unreachable": UNREACHABLE,
    "NotFairwatt": UNREACHABLE,
    "ServerTooOld": UNREACHABLE,
    "NotLoggedIn": TOKEN,
    "Forbidden": TOKEN,
    "NotFound": MISSING,
    "WaitedTooLong": TOO_LONG,
}


def end_of(error: BaseException) -> int:
    """Say what happened, and give the code to exit with."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 1
    if isinstance(error, BrokenPipeError):
        # Whoever read the pipe has seen enough; what is still buffered must not fail at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if isinstance(error, KeyboardInterrupt) or "Abort" in kinds:
        say("Interrupted.")
        return INTERRUPTED
    if "UsageError" in kinds:
        error.show()  # type: ignore[attr-defined]
        return USAGE
    if "FairwattError" in kinds:
        return _told(error, kinds)
    if isinstance(error, OSError) and error.filename is not None:
        say(f"{error.filename}: {error.strerror}.\nGive a path that this user can read and write.")
        return 1
    raise error


def _told(error: Any, kinds: set[str]) -> int:
    say(f"{error}")
    if error.next_step:
        say(error.next_step)
    if getattr(error, "request_id", ""):
        say(f"(request {error.request_id})")
    return next((code for name, code in CODES.items() if name in kinds), 1)


def say(line: str) -> None:
    """To people, beside the output that programs read."""
    sys.stdout.flush()
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
