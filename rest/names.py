"""What names look like, in the database's CHECKs and in the shapes of requests alike."""

# Lower-case letters, digits and inner dashes.
SLUG = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
# Also with inner dots, as hosts are called.
HOST = r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$"
