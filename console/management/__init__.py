"""What is done to the console from a shell."""
