"""What the database's constraints mean to a caller, registered by the apps that own them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    code: str
    pointer: str
    detail: str


_rules: dict[str, Rule] = {}


def explain(constraint: str, *, code: str, pointer: str, detail: str) -> None:
    """Say once, in the owning app's AppConfig.ready, what breaking `constraint` means."""
    _rules[constraint] = Rule(code, pointer, detail)


def rule_for(constraint: str | None) -> Rule | None:
    return _rules.get(constraint) if constraint else None
