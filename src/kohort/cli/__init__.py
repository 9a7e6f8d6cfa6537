"""kohort on the command line: a client like any other."""
