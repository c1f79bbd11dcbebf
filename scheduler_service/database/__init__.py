"""Django's Postgres, for a server that may be stopped, moved or gone."""
