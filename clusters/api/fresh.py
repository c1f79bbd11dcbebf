"""Resources whose counters and clocks move without a new version, for the rooms above."""

from rest.views import RetrieveMixin


class FreshRetrieveMixin(RetrieveMixin):
    """The ETag guards what an operator may change; a read is never answered 304."""

    moves_without_version = True
