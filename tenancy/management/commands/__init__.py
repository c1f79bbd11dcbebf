"""`manage.py verify_audit` and `manage.py export_audit`."""
