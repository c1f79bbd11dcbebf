"""The GPUs of a node, real or emulated, behind one protocol."""
