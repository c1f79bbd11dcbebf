"""The fairwatt policy: one objective in money for type, count, clock, place and hour."""
