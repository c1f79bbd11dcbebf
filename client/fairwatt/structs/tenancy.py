"""Who is asking."""

from datetime import datetime
from decimal import Decimal

from msgspec import Struct


class Me(Struct, frozen=True):
    """The identity behind the token."""

    token_id: int
    token_name: str
    role: str
    tenant_id: int | None
    tenant_name: str | None
    suspended: bool
    expires_at: datetime | None
    rights: list[str]
    service_version: str


class Tenant(Struct, frozen=True):
    """Who pays."""

    id: int
    name: str
    display_name: str
    gpu_quota: int | None
    gpus_in_use: int
    weight: Decimal
    energy_budget_wh: int | None
    max_tardiness_price_per_h: Decimal | None
    suspended: bool
    version: int
    created_at: datetime
    updated_at: datetime
