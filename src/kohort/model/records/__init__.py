"""What machines write to their logs: plain values. One file per machine; wire/ knows their bytes."""
