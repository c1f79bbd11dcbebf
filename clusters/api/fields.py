"""Shapes that several resources here share."""

import re
from decimal import Decimal
from typing import Any

from clusters.api.parameters import PARAMETERS
from policies import registry
from rest import fields

HOST = "^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$"
SLUG = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
GPU_TYPE = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
GPU_UUID = "^[A-Za-z0-9][A-Za-z0-9-]{0,95}$"
INT32_MAX = 2**31 - 1


class Name(fields.Pattern):
    """A name that fits in an address, as the tables' CHECK has it."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pattern=SLUG, max_length=63, **kwargs)


class HostName(fields.Pattern):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pattern=HOST, max_length=253, **kwargs)


class GpuTypeName(fields.Pattern):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pattern=GPU_TYPE, max_length=64, **kwargs)


class Currency(fields.Pattern):
    """ISO 4217."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pattern="^[A-Z]{3}$", max_length=3, **kwargs)


class Watts(fields.Integer):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=0, max_value=10_000, **kwargs)


class Reason(fields.Text):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=200, allow_blank=True, **kwargs)


class Price(fields.Amount):
    """Per kWh, exact to twelve places, below a thousand either way; shown without idle zeros."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_digits=15, decimal_places=12, **kwargs)

    def to_representation(self, value: Any) -> str:
        return plain(Decimal(value))


class DemandCharge(fields.Amount):
    """Money per kW of a month's highest draw."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_digits=11, decimal_places=6, sign=fields.Sign.NOT_NEGATIVE, **kwargs)

    def to_representation(self, value: Any) -> str:
        return plain(Decimal(value))


class Pue(fields.Amount):
    """Power usage effectiveness, from 1.00 to 10.00."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_digits=4, decimal_places=2, **kwargs)
        self.pattern = r"^([1-9](\.\d{1,2})?|10(\.0{1,2})?)$"
        self._matches = re.compile(self.pattern, re.ASCII).fullmatch
        self.json_schema = {"type": "string", "format": "decimal", "pattern": self.pattern}


class PolicyName(fields.Choice):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(registry.policy_names(), **kwargs)


class PolicyParameters(fields.JsonObject):
    """What is not given has the policy's default; the service refuses what the policy does not."""

    json_schema = PARAMETERS


def plain(value: Decimal) -> str:
    """Digits without an exponent and without trailing zeros."""
    return f"{value.normalize():f}" if value else "0"
