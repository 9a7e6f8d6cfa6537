"""Commands and their answers: plain values, free of Kafka versions, that can cross a process. One file per subject.

An answer that goes to a client as it is has Kafka's own field names, so that the wire encodes it without a copy;
times are integers of milliseconds and say so in their name.
"""
