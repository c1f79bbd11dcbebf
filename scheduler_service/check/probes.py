"""The probes in the order in which an installation is mended, and how they are run."""

from collections.abc import Callable, Mapping

from scheduler_service.check import configuration, database, surroundings
from scheduler_service.check.result import ProbeResult, failed

Probe = Callable[[], ProbeResult]

OF_SETTINGS: Mapping[str, Probe] = {
    "production": configuration.production,
    "debug": configuration.debug,
    "secret_key": configuration.secret_key,
    "secrets_keys": configuration.secrets_keys,
    "allowed_hosts": configuration.allowed_hosts,
    "https": configuration.https,
    "metrics": configuration.metrics,
}
OF_DATABASE: Mapping[str, Probe] = {
    "role": database.role,
    "migrations": database.migrations,
    "row_security": database.row_security,
    "timeouts": database.timeouts,
    "clock": database.clock,
}
OF_SURROUNDINGS: Mapping[str, Probe] = {
    "broker": surroundings.broker,
    "storage": surroundings.storage,
    "state": surroundings.state,
    "static_files": surroundings.static_files,
}


def run_all() -> dict[str, ProbeResult]:
    return {
        **_run(OF_SETTINGS),
        **_run_database(),
        **_run(OF_SURROUNDINGS),
    }


def _run_database() -> dict[str, ProbeResult]:
    """Without a connection the same trouble would be told five times over."""
    first = database.database()
    if first.status != "failed":
        return {"database": first, **_run(OF_DATABASE)}
    untried = failed("not tried: the database failed", "Mend the database first.")
    return {"database": first, **dict.fromkeys(OF_DATABASE, untried)}


def _run(probes: Mapping[str, Probe]) -> dict[str, ProbeResult]:
    return {name: _tried(probe) for name, probe in probes.items()}


def _tried(probe: Probe) -> ProbeResult:
    try:
        return probe()
    except Exception as error:  # noqa: BLE001 - one broken probe must not hide the others
        return failed(f"{type(error).__name__}: {error}", "Mend what it says, and check again.")
