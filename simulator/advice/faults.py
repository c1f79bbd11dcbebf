"""Why no advice can be given."""


class AdviceError(Exception):
    """One sentence that says what is missing or wrong, and what would help."""
