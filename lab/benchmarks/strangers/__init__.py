"""Strangers at the door: sockets that drip and passwords that are guessed, beside nodes at work."""
