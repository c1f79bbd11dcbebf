"""The brain: pure array programs, snapshot in, plan out."""
