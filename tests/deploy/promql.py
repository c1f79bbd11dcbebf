"""What an expression of PromQL names: functions, metrics with their matchers, labels of groups.

No parser: each kind of name is taken out in turn, and what is left is told apart by a parenthesis.
promtool checks the grammar.
"""

import re
from dataclasses import dataclass

OPERATORS = {"and", "or", "unless", "bool", "offset"}
_NAME = r"[A-Za-z_:][\w:]*"
_TEXT = r'"(?:[^"\\]|\\.)*"'
_SELECTOR = re.compile(rf'(?P<metric>{_NAME})\s*\{{(?P<inside>(?:{_TEXT}|[^"}}])*)\}}')
_MATCHER = re.compile(rf"(?P<label>\w+)\s*(?P<sign>=~|!~|!=|=)\s*(?P<value>{_TEXT})")
_GROUP = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\((?P<labels>[^)]*)\)")
_SPAN = re.compile(r"\[[^\]]*\]")
_LEFT = re.compile(rf"(?<![\w.])(?P<name>{_NAME})\s*(?P<called>\(?)")


@dataclass(frozen=True)
class Matcher:
    metric: str
    label: str
    sign: str
    value: str


@dataclass(frozen=True)
class Named:
    metrics: set[str]
    matchers: list[Matcher]
    functions: set[str]
    groups: set[str]


def names_in(expression: str) -> Named:
    bare = _SPAN.sub("", _SELECTOR.sub(r"\g<metric>", expression))
    groups = {label.strip() for match in _GROUP.finditer(bare) for label in match[1].split(",")}
    left = [found for found in _LEFT.finditer(_GROUP.sub("", bare)) if found[1] not in OPERATORS]
    return Named(
        metrics={found["name"] for found in left if not found["called"]},
        matchers=_matchers(expression),
        functions={found["name"] for found in left if found["called"]},
        groups=groups - {""},
    )


def _matchers(expression: str) -> list[Matcher]:
    return [
        Matcher(selector["metric"], found["label"], found["sign"], found["value"][1:-1])
        for selector in _SELECTOR.finditer(expression)
        for found in _MATCHER.finditer(selector["inside"])
    ]
