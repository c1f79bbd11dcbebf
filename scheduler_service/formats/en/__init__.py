"""English as operators read it: times sort and compare at a glance."""
