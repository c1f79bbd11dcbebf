"""How a client finds its service."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable

from fairwatt.call import Call, get
from fairwatt.errors import FairwattError
from fairwatt.operation import Asker, operation
from fairwatt.retry import Retry, Rules
from fairwatt.structs.tenancy import Me
from fairwatt.wire import address_of

FOLLOW_PATIENCE_S = 300.0


class Connected(Asker, ABC):
    """The address, the token, and how patient to be.

    `url` and `token` are FAIRWATT_URL and FAIRWATT_TOKEN where they are not given. A call is
    tried for `patience_s`, what follows a job for `follow_patience_s` without an answer.
    `cluster` is where jobs go that name none. `on_retry` hears why a call is tried again.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        cluster: str | None = None,
        patience_s: float = 20.0,
        follow_patience_s: float = FOLLOW_PATIENCE_S,
        on_retry: Callable[[Retry], object] = lambda retry: None,
    ) -> None:
        found = url or os.environ.get("FAIRWATT_URL")
        if not found:
            raise FairwattError("No service is named.", "Set FAIRWATT_URL, or give its address.")
        self.url = address_of(found)
        self.cluster = cluster or os.environ.get("FAIRWATT_CLUSTER")
        self.rules = Rules(self.url, patience_s=patience_s, on_retry=on_retry)
        self.following = Rules(self.url, patience_s=follow_patience_s, on_retry=on_retry)
        self.open(self.url, token or os.environ.get("FAIRWATT_TOKEN"))

    @abstractmethod
    def open(self, url: str, token: str | None) -> None:
        """Make the connection, whose kind is the client's."""

    @operation
    def me(self) -> Call[Me]:
        """Who the token belongs to, and what it may do.

        >>> client.me().role
        'admin'
        """
        return get("me/", Me)
