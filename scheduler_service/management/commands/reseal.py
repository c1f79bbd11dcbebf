"""Puts secrets and the values of jobs' variables under the newest of SECRETS_KEYS."""

from typing import Any

from django.core.management.base import BaseCommand

from jobs.sealed_env import envs_reseal
from tenancy.secrets import secrets_reseal


class Command(BaseCommand):
    help = "Seal secrets and variables anew, after a new key was put first in SECRETS_KEYS."

    def handle(self, *_args: Any, **_options: Any) -> None:
        secrets, jobs = secrets_reseal(), envs_reseal()
        self.stdout.write(f"secrets sealed anew: {secrets}, jobs: {jobs}")
