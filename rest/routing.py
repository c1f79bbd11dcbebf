"""Routes: canonical paths end with a slash, and work without it as well."""

from rest_framework.routers import SimpleRouter

ID = r"[0-9]{1,18}"  # every such number fits the database's bigint


class Router(SimpleRouter):
    def __init__(self) -> None:
        super().__init__()
        self.trailing_slash = "/?"
