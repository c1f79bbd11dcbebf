"""Speeds that follow CPUs on a running service."""
