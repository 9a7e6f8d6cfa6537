"""Logs that last: one Protocol (log.py), and what stands behind it: files/ by default, memory/ for tests."""
