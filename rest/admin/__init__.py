"""Admin pages whose every write is a call of a service."""

from rest.admin.base import ActingAdmin, HistoryAdmin, ReadOnlyAdmin, ReadOnlyInline, ServiceAdmin
from rest.admin.forms import REFUSALS, ServiceForm, refusals_shown_on

__all__ = [
    "REFUSALS",
    "ActingAdmin",
    "HistoryAdmin",
    "ReadOnlyAdmin",
    "ReadOnlyInline",
    "ServiceAdmin",
    "ServiceForm",
    "refusals_shown_on",
]
