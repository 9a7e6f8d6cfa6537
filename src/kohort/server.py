"""The server, the composition root: the only file that sees every room."""
def main() -> None:
    raise SystemExit("not built yet")
