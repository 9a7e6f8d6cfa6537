"""Groups whose members agree among themselves: a leader assigns, the coordinator counts heads and generations."""
