"""What the console's pages cost the server when there is much to show."""
