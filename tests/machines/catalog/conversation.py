"""A catalog with one broker in it, to talk to."""

from uuid import UUID

from kohort.machines.catalog.machine import CatalogMachine
from kohort.model.commands.catalog import RegisterBroker
from kohort.model.settings import BrokerSettings
from tests.playbook import Playbook


def register(broker_id: int = 1, store_epoch: int = 1) -> RegisterBroker:
    return RegisterBroker(broker_id, "127.0.0.1", 9092, None, UUID(int=1000 * broker_id + store_epoch), store_epoch)


def catalog(settings: BrokerSettings | None = None) -> Playbook:
    """A conversation in which broker 1 has registered."""
    book = Playbook(lambda: CatalogMachine(settings or BrokerSettings()))
    book.say(register())
    return book
