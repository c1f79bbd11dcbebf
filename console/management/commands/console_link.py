"""`manage.py console_link NAME`: a link by which the person signs in once, without a password."""

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from console.links import LIFETIME, made_for


class Command(BaseCommand):
    help = f"Print a link that signs a person in once, within {LIFETIME.seconds // 60} minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="of a user of the admin")
        parser.add_argument("--url", default="", help="of the service, as in https://gpu.example")

    def handle(self, *args: Any, **options: Any) -> None:
        person = User.objects.filter(username=options["name"], is_active=True).first()
        if person is None:
            raise CommandError(f"There is no active user {options['name']!r}.")
        path = reverse("console:link", args=[made_for(person)])
        self.stdout.write(f"{options['url'].rstrip('/')}{path}")
