"""The nouns every room shares: ids, errors, commands, answers, records, settings. No behaviour, no I/O."""
