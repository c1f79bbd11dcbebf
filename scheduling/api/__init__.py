"""Rounds, decisions and explanations over HTTP."""
