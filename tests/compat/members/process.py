"""Members in a process of their own, for tests that kill it: python -m tests.compat.members.process.

A line on stdin is CLIENT STRATEGY BOOTSTRAP GROUP TOPIC COUNT SESSION_TIMEOUT_MS ("" for the client's default), with
tabs between. Once that member has read COUNT records of partition 0, and committed so, a line on stdout names its
group. All go on until the process is killed.
"""

import sys
import threading

from tests.compat.group_members import Kind, make_python_member, wait_until_read
from tests.compat.members.member import Member, Wish


def main() -> None:
    for line in sys.stdin:
        client, strategy, bootstrap, group, topic, count, session_timeout_ms = line.rstrip("\n").split("\t")
        session = int(session_timeout_ms) if session_timeout_ms else None
        wish = Wish(bootstrap, group, strategy, (topic,), session_timeout_ms=session)
        member = make_python_member(Kind(client, strategy), wish)
        threading.Thread(target=_commit, args=(member, wish, int(count)), daemon=True).start()


def _commit(member: Member, wish: Wish, count: int) -> None:
    wait_until_read([member], count)
    member.commit((wish.topics[0], 0), count, "")
    print(wish.group, flush=True)


if __name__ == "__main__":
    main()
