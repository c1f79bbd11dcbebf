"""Whom attempts run as: a uid of its own for every tenant, one user for all, or the agent's own."""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from agent.run.closed_folders import closed_above


class NoSuchUserError(Exception):
    """The user that attempts should run as cannot be had on this host."""


@dataclass(frozen=True, slots=True)
class User:
    uid: int
    gid: int

    @classmethod
    def named(cls, name: str) -> "User":
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            raise NoSuchUserError(f"no user {name!r} on this host") from None
        return cls(entry.pw_uid, entry.pw_gid)


@dataclass(frozen=True, slots=True)
class UidRange:
    """Tenant 7 is the seventh of it, on every node: files on shared storage keep their owner."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> "UidRange":
        first, _, last = text.partition("-")
        if not (first.isdecimal() and last.isdecimal()) or not 0 < int(first) < int(last) < 2**31:
            raise ValueError(f"{text!r}: expected two uids as 200000-299999")
        return cls(int(first), int(last))

    def of(self, tenant_id: int) -> User:
        uid = self.first + tenant_id
        if uid > self.last:
            raise NoSuchUserError(
                f"no uid left for tenant {tenant_id} in {self.first}-{self.last}: "
                "give this node a larger range"
            )
        return User(uid, uid)


@dataclass(frozen=True, slots=True)
class TenantUsers:
    """`trusted`: told in words that attempts may run as the agent's own user."""

    uids: UidRange | None = None
    shared: User | None = None
    trusted: bool = False

    def of(self, tenant_id: int | None) -> User | None:
        """None: the agent's own user."""
        if self.uids is not None and tenant_id is not None:
            return self.uids.of(tenant_id)
        if self.shared is None and not self.trusted:
            raise NoSuchUserError(
                "the attempt has no tenant to run as, and the agent may not run it as its own user"
            )
        return self.shared

    @property
    def example(self) -> User | None:
        """One whom attempts may run as, to try things with."""
        return User(self.uids.last, self.uids.last) if self.uids else self.shared

    def unreachable(self, path: Path) -> str:
        """Why users of attempts cannot get into a directory by themselves; empty if they can."""
        user = self.example
        closed = closed_above(path / "run", user.uid) if user else None
        if closed is None:
            return ""
        return f"attempts cannot reach {path}: {closed} is closed to others (chmod o+x)"


def give(path: Path, user: User | None) -> None:
    """None: it stays the agent's own."""
    if user is not None:
        os.chown(path, user.uid, user.gid, follow_symlinks=False)


def check_told(uids: UidRange | None, run_as: str | None, *, trusted: bool) -> None:
    """Attempts run as root, or as who can read the node token, only where that was said."""
    if uids is None and run_as is None and not trusted:
        raise NoSuchUserError(
            "say whom attempts run as: --tenant-uids FIRST-LAST (a uid for each tenant), --run-as "
            "USER (one for all), or --trust-tenants (the agent's own user, who can read its token)"
        )
    if os.geteuid() != 0 and (uids is not None or run_as is not None):
        raise NoSuchUserError("only root can run attempts as somebody else")
