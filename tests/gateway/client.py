"""A client of a connection in memory: sends requests, reads answers, sees how the connection takes it."""

from types import SimpleNamespace
from typing import Any

from kohort.gateway.call import GatewayInfo
from kohort.gateway.connection import Connection, SharedByConnections
from kohort.gateway.limits import Limits
from kohort.wire.messages import request_encoder, response_decoder
from tests.gateway.cranked_loop import CrankedLoop, MemoryTransport
from tests.gateway.scripted_carrier import ScriptedCarrier

PRODUCE, FETCH, METADATA, API_VERSIONS = 0, 1, 3, 18
GATEWAY = GatewayInfo(1, "kohort.example", 9092)


class Gateway:
    """A gateway without a socket: its connections share what a listener's would."""

    def __init__(self, carrier: ScriptedCarrier, limits: Limits | None = None) -> None:
        self.loop = CrankedLoop()
        self.carrier = carrier
        self.shared = SharedByConnections(carrier, GATEWAY, limits or Limits(), self.loop)  # type: ignore[arg-type]
        self.refusal: str | None = None
        self.lost: list[Connection] = []

    def admit(self, connection: Connection) -> str | None:
        return self.refusal

    def on_lost(self, connection: Connection) -> None:
        self.lost.append(connection)

    def connect(self) -> "Client":
        return Client(self)


class Client:
    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.connection = Connection(gateway.shared, gateway)
        self.transport = MemoryTransport(gateway.loop)
        self.transport.join(self.connection)

    def send(self, data: bytes, piece: int = 1 << 30) -> None:
        self.transport.deliver(data, piece)
        self.gateway.loop.crank()

    def crank(self) -> None:
        self.gateway.loop.crank()

    @property
    def frames(self) -> list[memoryview]:
        """Whole answers read so far, without their sizes; what is cut short is left out."""
        data, position = memoryview(bytes(self.transport.taken)), 0
        frames = []
        while position + 4 <= len(data):
            size = int.from_bytes(data[position : position + 4], "big")
            frames.append(data[position + 4 : position + 4 + size])
            position += 4 + size
        return frames

    @property
    def correlation_ids(self) -> list[int]:
        return [int.from_bytes(frame[:4], "big") for frame in self.frames]

    def answer(self, api_key: int, version: int, index: int = -1) -> Any:
        return response_decoder(api_key, version)(self.frames[index])[1]


def frame(api_key: int, version: int, correlation_id: int, body: object, client_id: str = "tester") -> bytes:
    return b"".join(bytes(part) for part in request_encoder(api_key, version)(correlation_id, client_id, body))


def produce_frame(correlation_id: int, *, acks: int = -1, records: bytes = b"records", version: int = 9) -> bytes:
    partition = SimpleNamespace(index=0, records=records)
    topic = SimpleNamespace(name="orders", topic_id=None, partition_data=(partition,))
    body = SimpleNamespace(transactional_id=None, acks=acks, timeout_ms=1000, topic_data=(topic,))
    return frame(PRODUCE, version, correlation_id, body)


def metadata_frame(correlation_id: int) -> bytes:
    body = SimpleNamespace(topics=None, allow_auto_topic_creation=False, include_topic_authorized_operations=False)
    return frame(METADATA, 12, correlation_id, body)


def fetch_frame(correlation_id: int) -> bytes:
    body = SimpleNamespace(
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=1 << 20,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=(),
        forgotten_topics_data=(),
        rack_id="",
    )
    return frame(FETCH, 12, correlation_id, body)


def api_versions_frame(
    correlation_id: int, *, version: int = 3, name: str = "tester", software_version: str = "1.0"
) -> bytes:
    body = SimpleNamespace(client_software_name=name, client_software_version=software_version)
    return frame(API_VERSIONS, version, correlation_id, body)
