"""The version of the service, as every answer tells it."""

VERSION = "0.1.0"
HEADER = "Fairwatt-Version"
