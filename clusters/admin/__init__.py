"""The machines for operators: every write goes through the services, and is audited there."""

from clusters.admin import cluster, hardware, join_tokens

__all__ = ["cluster", "hardware", "join_tokens"]
