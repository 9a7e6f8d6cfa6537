"""DescribeLogDirs: how much of the disk each partition takes.

Versions: 1 none of note; 2 flexible; 3 a top-level error; 4 the sizes of the disk; 5 is_cordoned.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.data import DescribeLogDirs, LogDirDescribed, LogDirsDescribed, TopicPartitions
from kohort.model.errors import Refused

_TOP_LEVEL_ERROR_SINCE = 3


def handle_describe_log_dirs(request: Request, call: Call) -> None:
    topics = request.topics
    asked = None if topics is None else tuple(TopicPartitions(topic.topic, topic.partitions) for topic in topics)
    call.send(DescribeLogDirs(asked), call.answer)


def refuse_describe_log_dirs(request: Request, refused: Refused, call: Call) -> Message:
    """Before there was a top-level error, a directory without a name says it."""
    if call.version >= _TOP_LEVEL_ERROR_SINCE:
        return LogDirsDescribed((), error_code=refused.error_code)
    return LogDirsDescribed((LogDirDescribed(refused.error_code, "", ()),))


DESCRIBE_LOG_DIRS = Api(35, "DescribeLogDirs", 1, 5, handle_describe_log_dirs, refuse_describe_log_dirs)
