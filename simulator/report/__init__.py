"""Results as tables, JSON, CSV, PNG and one self-contained page."""
