"""The embedded store: one write-ahead log for everything, settled in the background into Kafka's own segment files.

    append ──▶ memory tail + WAL (group commit) ──▶ settled segments          read ◀── memory tail, else segments

What is not settled yet is always in memory, so the WAL is only ever read at recovery.
"""
