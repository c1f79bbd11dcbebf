"""Python imports it at every start of a program whose PYTHONPATH begins with this folder."""

from lab.chaos.crash import hook

hook.install()
