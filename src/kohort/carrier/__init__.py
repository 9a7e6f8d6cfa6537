"""Brings a command and its org from a gateway to the broker, and the answer back."""
