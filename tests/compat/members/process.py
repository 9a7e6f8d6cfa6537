"""A member in a process of its own, for tests that kill it: python -m tests.compat.members.process, then its values.

CLIENT STRATEGY BOOTSTRAP GROUP TOPIC SESSION_TIMEOUT_MS ("" for the client's default). Says "committed" once it has
read and committed as many records of partition 0 as stdin's first line names, and goes on until it is killed.
"""

import sys
import time

from tests.compat.group_members import Kind, make_python_member, wait_until_read
from tests.compat.members.member import Wish


def main() -> None:
    client, strategy, bootstrap, group, topic, session_timeout_ms = sys.argv[1:]
    session = int(session_timeout_ms) if session_timeout_ms else None
    wish = Wish(bootstrap, group, strategy, (topic,), session_timeout_ms=session)
    member = make_python_member(Kind(client, strategy), wish)
    count = int(sys.stdin.readline())
    wait_until_read([member], count)
    member.commit((topic, 0), count, "")
    print("committed", flush=True)
    time.sleep(3600)


if __name__ == "__main__":
    main()
