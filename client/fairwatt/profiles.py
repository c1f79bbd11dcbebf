"""Where services are remembered: profiles in `config.toml`, below XDG_CONFIG_HOME.

A token is sent only to the address that it was stored with.
"""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from fairwatt.errors import FairwattError

DEFAULT = "default"


class ProfileError(FairwattError):
    """The configuration cannot be read, or names no such profile."""


@dataclass(frozen=True, slots=True)
class ServiceProfile:
    """One service, and who asks it."""

    url: str | None = None
    token: str | None = None
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Configuration:
    current: str
    profiles: dict[str, ServiceProfile]


def config_path(env: Mapping[str, str] = os.environ) -> Path:
    home = env.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "fairwatt" / "config.toml"


def load(path: Path) -> Configuration:
    try:
        found = tomllib.loads(path.read_text())
    except FileNotFoundError:
        return Configuration(DEFAULT, {})
    except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as error:
        raise ProfileError(f"{path} cannot be read: {error}.", "Mend it, or remove it.") from error
    try:
        profiles = {
            name: ServiceProfile(**values) for name, values in found.get("profiles", {}).items()
        }
    except TypeError as error:
        raise ProfileError(
            f"{path}: a profile has `url`, `token` and `cluster` only.", "Mend it, or remove it."
        ) from error
    return Configuration(str(found.get("current", DEFAULT)), profiles)


def chosen(path: Path, name: str | None, env: Mapping[str, str] = os.environ) -> ServiceProfile:
    """The profile of that name, or the current one, with what the environment says instead."""
    configuration = load(path)
    asked = name or env.get("FAIRWATT_PROFILE")
    if asked and asked not in configuration.profiles:
        known = ", ".join(sorted(configuration.profiles)) or "none yet"
        raise ProfileError(
            f"There is no profile {asked!r}.", f"`fairwatt login` makes one; there are: {known}."
        )
    profile = configuration.profiles.get(asked or configuration.current, ServiceProfile())
    return overlaid(profile, env)


def overlaid(profile: ServiceProfile, env: Mapping[str, str]) -> ServiceProfile:
    url, token = env.get("FAIRWATT_URL"), env.get("FAIRWATT_TOKEN")
    if url and url.rstrip("/") != (profile.url or "").rstrip("/"):
        profile = ServiceProfile(url=url)
    cluster = env.get("FAIRWATT_CLUSTER") or profile.cluster
    return replace(profile, token=token or profile.token, cluster=cluster)


def remember(path: Path, name: str, profile: ServiceProfile) -> None:
    """Store a profile and make it the current one; for its owner's eyes."""
    profiles = {**load(path).profiles, name: profile}
    lines = [f"current = {json.dumps(name)}"]
    for each, values in sorted(profiles.items()):
        lines += ["", f"[profiles.{json.dumps(each)}]"]
        lines += [f"{key} = {json.dumps(value)}" for key, value in asdict(values).items() if value]
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.touch(mode=0o600)
    draft.chmod(0o600)
    draft.write_text("\n".join(lines) + "\n")
    draft.replace(path)
