"""The four codecs of record batches, as Kafka's clients frame them.

gzip, zstd and LZ4 are streams of their own. Snappy comes in two forms: bare, and in the frame of the Java library
(xerial). Both are read; the frame, which every client reads, is what is written.

What comes out of a decompressor is never larger than the caller allows: a small batch that would unfold to gigabytes
is a DecodeError. It knows nothing of records; records.py calls it.
"""

from collections.abc import Iterator
from struct import Struct
from struct import error as StructError
from typing import Any, Final

import cramjam

from kohort.wire.errors import DecodeError
from kohort.wire.record_batch import Buffer, Compression

_FIRST_ROOM: Final = 64 * 1024

# The Java library's frame around Snappy: a header, then blocks of at most 32 KiB of input, each behind its length.
_XERIAL_MAGIC: Final = b"\x82SNAPPY\0"
_XERIAL_HEADER: Final = _XERIAL_MAGIC + Struct(">ii").pack(1, 1)
_XERIAL_BLOCK: Final = 32 * 1024
_LENGTH: Final = Struct(">i")


def compress(codec: Compression, data: Buffer) -> bytes:
    match codec:
        case Compression.NONE:
            return bytes(data)
        case Compression.GZIP:
            return bytes(cramjam.gzip.compress(data))
        case Compression.SNAPPY:
            return _compress_xerial(memoryview(data))
        case Compression.LZ4:
            return _compress_lz4(data)
        case Compression.ZSTD:
            return bytes(cramjam.zstd.compress(data))


def decompress(codec: int, data: Buffer, max_size: int) -> bytes:
    """The plain bytes; DecodeError if the codec is unknown, the data corrupt, or the result larger than max_size."""
    try:
        match codec:
            case Compression.NONE:
                return _bounded(bytes(data), max_size)
            case Compression.GZIP:
                return _decompress_growing(cramjam.gzip, data, max_size)
            case Compression.SNAPPY:
                return _decompress_snappy(memoryview(data), max_size)
            case Compression.LZ4:
                return _decompress_growing(cramjam.lz4, data, max_size)
            case Compression.ZSTD:
                return _decompress_growing(cramjam.zstd, data, max_size)
    except (cramjam.DecompressionError, StructError) as failure:
        raise DecodeError(f"records that {Compression(codec).name.lower()} cannot decompress: {failure}") from failure
    raise DecodeError(f"records of the unknown compression {codec}")


def _bounded(data: bytes, max_size: int) -> bytes:
    if len(data) > max_size:
        raise _too_large(max_size)
    return data


def _too_large(max_size: int) -> DecodeError:
    return DecodeError(f"records of more than {max_size} bytes after decompression")


def _decompress_growing(library: Any, data: Buffer, max_size: int) -> bytes:
    """Tries with room for a common ratio, then with ever more: the streams do not say how large they are."""
    room = min(max(_FIRST_ROOM, 4 * len(data)), max_size)
    while True:
        plain = bytearray(room)
        try:
            size = library.decompress_into(data, plain)
        except cramjam.DecompressionError as failure:
            if "whole buffer" not in str(failure):
                raise
            if room == max_size:
                raise _too_large(max_size) from failure
            room = min(4 * room, max_size)
        else:
            return bytes(memoryview(plain)[:size])


def _compress_lz4(data: Buffer) -> bytes:
    """Java's clients read no frame whose blocks refer to those before them, which is this library's default."""
    stream = cramjam.lz4.Compressor(block_linked=False)
    stream.compress(bytes(data))
    return bytes(stream.finish())


def _compress_xerial(data: memoryview) -> bytes:
    pieces = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        pieces += (_LENGTH.pack(len(block)), block)
    return b"".join(pieces)


def _decompress_snappy(data: memoryview, max_size: int) -> bytes:
    """Each block says at its beginning how large it is."""
    pieces: list[bytes] = []
    size = 0
    for block in _snappy_blocks(data):
        size += cramjam.snappy.decompress_raw_len(block)
        if size > max_size:
            raise _too_large(max_size)
        pieces.append(bytes(cramjam.snappy.decompress_raw(block)))
    return b"".join(pieces)


def _snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    if bytes(data[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        yield data
        return
    position = len(_XERIAL_HEADER)
    while position < len(data):
        (size,) = _LENGTH.unpack_from(data, position)
        position += _LENGTH.size
        if not 0 <= size <= len(data) - position:
            raise DecodeError(f"a snappy block of {size} bytes where {len(data) - position} are left")
        yield data[position : position + size]
        position += size
