"""ApiVersions: which APIs and versions work here. The one API that a client may ask in a version unknown to us.

Versions: 3 flexible, says what software the client is (KIP-511), features; 4 features whose lowest level is 0.
A version above is answered UNSUPPORTED_VERSION in the form of version 0, with the versions of ApiVersions alone, so
that the client asks again. No feature is announced: nothing here depends on one.

Answered by the gateway itself.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.errors import ErrorCode, ProtocolError, Refused

API_VERSIONS_KEY: Final = 18
MIN_VERSION: Final = 0
MAX_VERSION: Final = 4

_SOFTWARE_SINCE: Final = 3
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class VersionRange(NamedTuple):
    api_key: int
    min_version: int
    max_version: int


class VersionsMessage(NamedTuple):
    error_code: int
    api_keys: tuple[VersionRange, ...]
    throttle_time_ms: int = 0
    supported_features: tuple[()] = ()
    finalized_features_epoch: int = -1
    finalized_features: tuple[()] = ()
    zk_migration_ready: bool = False


def api_versions(others: Iterable[Api]) -> Api:
    """The ApiVersions API that tells of these others and of itself."""
    ranges = [
        VersionRange(
            api.key,
            api.min_version if api.advertised_min_version is None else api.advertised_min_version,
            api.max_version,
        )
        for api in others
    ]
    ranges.append(VersionRange(API_VERSIONS_KEY, MIN_VERSION, MAX_VERSION))
    message = VersionsMessage(ErrorCode.NONE, tuple(sorted(ranges)))

    def handle_api_versions(request: Request, call: Call) -> None:
        if call.version >= _SOFTWARE_SINCE:
            _learn_software(request, call)
        call.answer(message)

    return Api(API_VERSIONS_KEY, "ApiVersions", MIN_VERSION, MAX_VERSION, handle_api_versions, refuse_api_versions)


def _learn_software(request: Request, call: Call) -> None:
    name, version = request.client_software_name, request.client_software_version
    if not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version)):
        raise ProtocolError(
            ErrorCode.INVALID_REQUEST, f"client software {name!r} {version!r} is not a name and a version"
        )
    call.client.software_name = name
    call.client.software_version = version


def refuse_api_versions(request: Request, refused: Refused, call: Call) -> Message:
    return VersionsMessage(refused.error_code, ())


def _answer_unknown_version(request: Request, call: Call) -> None:
    ranges = (VersionRange(API_VERSIONS_KEY, MIN_VERSION, MAX_VERSION),)
    call.answer(VersionsMessage(ErrorCode.UNSUPPORTED_VERSION, ranges))


UNKNOWN_API_VERSIONS: Final = Api(
    API_VERSIONS_KEY, "ApiVersions", MIN_VERSION, MAX_VERSION, _answer_unknown_version, refuse_api_versions
)
"""What a request of a version outside of the range is handled by; its answer is encoded as version 0."""
