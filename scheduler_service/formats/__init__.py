"""How the admin writes times."""
