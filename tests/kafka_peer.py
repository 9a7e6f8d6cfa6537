"""Where Apache Kafka itself is: the script in ../shared/peer, which a user's clone does not have.

Decides nothing about tests; tests/conftest.py skips what is marked `kafka` where the script is absent.
"""

import functools
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "shared" / "peer" / "kafka"
ABSENT = f"Apache Kafka is not at hand: {SCRIPT} is absent"


@functools.cache
def jars_directory() -> Path:
    """The folder of Kafka's jars; the script fetches them the first time."""
    answer = subprocess.run([SCRIPT, "libs"], check=True, capture_output=True, text=True)
    return Path(answer.stdout.strip())


def java_command() -> list[str]:
    """A JVM with Kafka on its class path; a main class (or a .java file) and its arguments follow."""
    jars = jars_directory()
    return [
        "java",
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        f"-Dlog4j2.configurationFile={jars / 'log4j2.properties'}",
        "-cp",
        f"{jars}/*",
    ]
