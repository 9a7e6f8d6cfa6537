"""The only async driver of state: shards (a machine on a log), partitions (data), waits and timers."""
