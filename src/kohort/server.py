"""The server, the composition root: the only file that sees every room.

Decides what is made of what, and in which order it starts and stops. Nothing here knows what a request means.

    gateway/listener.py ─▶ carrier/local.py ─▶ broker/broker.py ─▶ store/files/store.py
"""

import asyncio
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kohort import __version__
from kohort.cli.arguments import broker_settings, parse_command_line, settings_page
from kohort.model.setting import ConfigError
from kohort.model.settings import BrokerSettings, parse_listener

_log: Final = logging.getLogger("kohort")

_YOUNG_OBJECTS: Final = 50_000
"""Objects made before Python looks for cycles: requests make none, so looking often only costs time."""
_SWITCH_SECONDS: Final = 0.0005
"""How long a thread may keep the interpreter when another wants it: the disk's threads have little to do, but soon."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command `kohort`."""
    typed = parse_command_line(sys.argv[1:] if arguments is None else arguments)
    if typed.list_settings:
        print(settings_page())
        return 0
    try:
        settings = broker_settings(typed, os.environ)
    except ConfigError as error:
        print(f"kohort: {error}", file=sys.stderr)
        return 2
    logging.basicConfig(
        level=typed.log_level.upper(), format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    return _serve(settings)


def _serve(settings: BrokerSettings) -> int:
    """Runs a broker until it is told to stop, or cannot go on."""
    import uvloop

    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(_YOUNG_OBJECTS, 20, 100)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(Server(settings).run())


class Server:
    """One broker process: a store, a broker on it, a carrier and a gateway in front."""

    def __init__(self, settings: BrokerSettings) -> None:
        self._settings = settings
        self._directory = Path(settings.log_dirs[0]).absolute()
        self._stop = asyncio.Event()
        self._failure: Exception | None = None

    async def run(self) -> int:
        """Starts everything, waits for the end, stops everything; the exit status of the process."""
        from kohort.store.log import StoreError

        loop = asyncio.get_running_loop()
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(signal_number, self._stop.set)
        try:
            await self._run(loop)
        except (StoreError, OSError) as error:
            self._failure = error
        if self._failure is not None:
            _log.error("%s", self._failure)
            return 1
        return 0

    async def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        from kohort.broker.broker import Broker
        from kohort.carrier.local import LocalCarrier
        from kohort.gateway.call import GatewayInfo
        from kohort.gateway.limits import limits_of
        from kohort.gateway.listener import Listener
        from kohort.store.files.os_disk import OsDisk
        from kohort.store.files.settings import settings_within
        from kohort.store.files.store import FilesStore
        from kohort.store.files.thread_workers import ThreadWorkers

        began = time.monotonic()
        settings = self._settings
        listener_at = parse_listener(settings.listeners[0])
        advertised = parse_listener((settings.advertised_listeners or settings.listeners)[0])
        store = FilesStore(
            OsDisk(self._directory),
            ThreadWorkers(loop),
            settings_within(settings.kohort_memory_bytes),
            now_ms=_now_ms,
            on_failure=self._on_failure,
        )
        store_epoch = store.open()
        listener: Listener | None = None
        broker: Broker | None = None
        try:
            broker = Broker(
                store=store,
                store_epoch=store_epoch,
                settings=settings,
                broker_id=settings.node_id,
                advertised_host=advertised.host,
                advertised_port=advertised.port,
                loop=loop,
            )
            await broker.start()
            info = GatewayInfo(settings.node_id, advertised.host, advertised.port)
            listener = Listener(LocalCarrier(broker.handle), info, limits_of(settings), loop)
            port = await listener.start(listener_at.host, listener_at.port)
            gc.freeze()
            _log.info(
                "kohort %s is ready after %.0f ms at %s:%d, its data in %s",
                *(__version__, (time.monotonic() - began) * 1000, listener_at.host, port, self._directory),
            )
            await self._stop.wait()
            _log.info("stopping")
        finally:
            if broker is not None:
                broker.stop_coordinating()
            if listener is not None:
                await listener.stop()
            if broker is not None:
                await broker.stop()
            store.close()
        _log.info("stopped, everything is on the disk")

    def _on_failure(self, error: Exception) -> None:
        self._failure = error
        self._stop.set()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    sys.exit(main())
