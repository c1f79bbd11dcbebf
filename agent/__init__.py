"""The node agent: runs attempts, reads and sets GPUs, and reports; it knows no other room."""

__version__ = "0.1.0"
