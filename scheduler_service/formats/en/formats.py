"""Times as 2026-01-31 08:00:00, in UTC."""

DATETIME_FORMAT = "Y-m-d H:i:s"
DATE_FORMAT = "Y-m-d"
