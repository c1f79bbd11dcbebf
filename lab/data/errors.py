"""What can go wrong with data, in words for the one at the terminal."""


class DataError(Exception):
    """Says what is wrong and what to do."""


class SourceUnreachable(DataError):
    """The host does not answer; the other files of that host would fail alike."""


class BrokenTransfer(DataError):
    """What has arrived is kept, and the next attempt goes on from there."""


class WrongContent(DataError):
    """Size or checksum differ from the manifest."""
