"""What contradicts itself in the code, volumes, secrets and artifacts of a job."""

from collections.abc import Hashable, Iterable, Iterator

from jobs.specs import JobSpec

Found = tuple[tuple[str | int, ...], str, str]

# Where a sandbox or container has things of its own.
RESERVED = {
    *("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32"),
    *("proc", "root", "run", "sbin", "sys", "tmp", "usr", "var"),
}


def in_workload(spec: JobSpec) -> Iterator[Found]:
    if spec.workdir is not None:
        yield from _in_workdir(spec)
    if spec.mounts:
        yield from _in_mounts(spec)
    if spec.artifacts:
        yield from _in_artifacts(spec)
    if spec.secrets:
        yield from _in_secrets(spec)


def _in_workdir(spec: JobSpec) -> Iterator[Found]:
    workdir = spec.workdir
    if workdir is None:
        return
    if (workdir.archive is None) == (workdir.git is None):
        yield ("workdir",), "workdir_twice", "Give an archive or git, and not both."
    if (workdir.git is None) != (workdir.commit is None):
        at = ("workdir", "commit" if workdir.commit is None else "git")
        yield at, "git_incomplete", "git and commit are given together."


def _in_mounts(spec: JobSpec) -> Iterator[Found]:
    targets = [mount.target for mount in spec.mounts]
    for index, target in enumerate(targets):
        at = ("mounts", index, "target")
        if target.split("/")[1] in RESERVED:
            yield at, "reserved_target", f"{target} is part of the system; choose another place."
        if any(_inside(target, other) for other in targets[:index]):
            yield at, "target_taken", "Another volume is mounted there, above it or below it."


def _inside(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def _in_artifacts(spec: JobSpec) -> Iterator[Found]:
    for index in _repeated(artifact.name for artifact in spec.artifacts):
        yield ("artifacts", index, "name"), "duplicate_artifact", "Another has this name."


def _in_secrets(spec: JobSpec) -> Iterator[Found]:
    for index, use in enumerate(spec.secrets):
        if (use.variable is None) == (use.file is None):
            detail = "Give a variable or a file, and not both."
            yield ("secrets", index), "secret_place", detail
        if use.variable is not None and use.variable in spec.env:
            at = ("secrets", index, "variable")
            yield at, "variable_twice", "A variable of `env` has this name."
    for index in _repeated(use.variable for use in spec.secrets):
        yield ("secrets", index, "variable"), "variable_twice", "Another secret has this variable."
    for index in _repeated(use.file for use in spec.secrets):
        yield ("secrets", index, "file"), "duplicate_file", "Another secret has this file."


def _repeated(values: Iterable[Hashable | None]) -> Iterator[int]:
    """Where a value stands that stood before."""
    seen = set()
    for index, value in enumerate(values):
        if value is not None and value in seen:
            yield index
        seen.add(value)
