"""The pure state machines. No I/O, no clock, no randomness, no asyncio: broker/shard.py drives them."""
