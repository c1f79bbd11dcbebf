"""What stops the embedded stack, in words that say what to do next."""


class EmbeddedError(Exception):
    """Printed to the person at the terminal as one message, without a traceback."""
