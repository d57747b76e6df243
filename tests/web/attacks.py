"""Attacks on a server of this machine, in a process of their own.

`python -m tests.web.attacks NAME PORT COOKIE`: the process is the attacker's, so that whoever plays
beside it is disturbed only by what it does to the server. It says when it begins, and goes on until
it is killed, or for two minutes.
"""

import asyncio
import contextlib
import itertools
import json
import struct
import sys
import time
from functools import cache

STRANGER = "127.0.0.2"  # the others come from another address
HALF_OPEN = 600
SECONDS = 120.0
BODY = b'{"password":[' + b"1," * 10_000_000 + b"1]}"


async def _open(port):
    opening = asyncio.open_connection("127.0.0.1", port, local_addr=(STRANGER, 0))
    return await asyncio.wait_for(opening, 5)


@cache
def _say_once(text):
    print(text, flush=True)


async def _again_and_again(attack, port, cookie, until):
    """Attack; begin anew whenever the server has had enough."""
    while time.monotonic() < until:
        writer = None
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            reader, writer = await _open(port)
            _say_once("attacking")
            await asyncio.wait_for(attack(reader, writer, port, cookie), until - time.monotonic())
        if writer is not None:
            writer.transport.abort()
        await asyncio.sleep(0.002)


def _post(port, origin, more):
    head = f"POST /api/admin/login HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: {origin}\r\n"
    return f"{head}Content-Type: application/json\r\n{more}\r\n\r\n".encode()


async def foreign_bodies(reader, writer, port, cookie):
    """Long bodies of JSON for the login, from another site."""
    await _long_body(writer, port, "http://elsewhere.example")


async def own_bodies(reader, writer, port, cookie):
    """The same with the origin of the server's own page, which any program can write."""
    await _long_body(writer, port, f"http://127.0.0.1:{port}")


async def _long_body(writer, port, origin):
    writer.write(_post(port, origin, f"Content-Length: {len(BODY)}"))
    writer.write(BODY)
    await writer.drain()
    await asyncio.sleep(2)


async def tiny_chunks(reader, writer, port, cookie):
    """A body in chunks of one byte."""
    writer.write(_post(port, f"http://127.0.0.1:{port}", "Transfer-Encoding: chunked"))
    while True:
        writer.write(b"1\r\n \r\n" * 10_000)
        await writer.drain()


async def requests(reader, writer, port, cookie):
    """One request after the other, without waiting for answers."""
    one = f"GET /art/sprites.json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    for _ in range(50):
        writer.write(one)
        await writer.drain()
        if not await reader.read(65_536):
            return


async def _websocket(reader, writer, port, cookie, greets=True):
    lines = [
        "GET /ws HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Origin: http://127.0.0.1:{port}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==",
        f"Cookie: cochef={cookie}",
    ]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    answer = await reader.readuntil(b"\r\n\r\n")
    if b" 101 " not in answer:
        await asyncio.sleep(0.1)
        raise OSError("refused")
    if greets:
        writer.write(_frame(0x1, json.dumps({"type": "hello", "take_over": True}).encode()))


def _frame(opcode, payload):
    """A frame of a client; its mask is zero, so its payload is as it is."""
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
    elif size < 65_536:
        head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
    return head + bytes(4) + payload


async def large_frames(reader, writer, port, cookie):
    """Frames of nearly 128 KiB, 88 a second."""
    await _websocket(reader, writer, port, cookie)
    text = b'{"type":"submit","event":"answers","values":{"a":"' + b"x" * 130_000 + b'"}}'
    while True:
        writer.write(_frame(0x1, text))
        await writer.drain()
        await asyncio.sleep(1 / 88)


async def large_comments(reader, writer, port, cookie):
    """The same where comments are written: there the server reads them."""
    await _websocket(reader, writer, port, cookie)
    texts = json.dumps([["x" * 65_000] * 2])
    text = b'{"type":"submit","event":"judged","ranking":[],"comments":%s}' % texts.encode()
    reading = asyncio.create_task(_swallow(reader))
    try:
        while not reading.done():
            writer.write(_frame(0x1, text))
            await writer.drain()
            await asyncio.sleep(1 / 88)
    finally:
        reading.cancel()


async def pings(reader, writer, port, cookie):
    """Pings without a pause."""
    await _websocket(reader, writer, port, cookie)
    many = _frame(0x9, b"") * 5_000
    while True:
        writer.write(many)
        await writer.drain()


async def empty_fragments(reader, writer, port, cookie):
    """A message that never ends, in frames without content."""
    await _websocket(reader, writer, port, cookie)
    writer.write(bytes([0x01, 0x80]) + bytes(4))
    many = (bytes([0x00, 0x80]) + bytes(4)) * 5_000
    while True:
        writer.write(many)
        await writer.drain()


async def hellos(reader, writer, port, cookie):
    """As many greetings as a page may send messages; the server looks everything up anew."""
    await _websocket(reader, writer, port, cookie)
    await _say_without_end(reader, writer, [{"type": "hello", "take_over": True}])


async def short_games(reader, writer, port, cookie):
    """Games that are begun and ended at once, as fast as messages may come."""
    await _websocket(reader, writer, port, cookie)
    nothing = {"age": None, "gender": None, "experience": None}
    for event in (
        {"event": "consent", "agrees": True},
        {"event": "answers", "values": nothing},
        {"event": "understood"},
    ):
        writer.write(_frame(0x1, json.dumps({"type": "submit", **event}).encode()))
    await _say_without_end(reader, writer, [{"type": "start"}, {"type": "stop"}])


async def many_sockets(reader, writer, port, cookie):
    """As many websockets as one person can open, and on each as many messages as a page may send.

    Some never say hello.
    """
    greets = next(_SOCKETS) % 2 == 0
    await _websocket(reader, writer, port, cookie, greets=greets)
    messages = [{"type": "seen", "t": 1}] * 9
    await _say_without_end(reader, writer, [*messages, {"type": "hello"}] if greets else messages)


_SOCKETS = itertools.count()


async def _say_without_end(reader, writer, messages):
    """Say these messages again and again, 100 a second, and read all answers."""
    reading = asyncio.create_task(_swallow(reader))
    frames = itertools.cycle([_frame(0x1, json.dumps(message).encode()) for message in messages])
    try:
        while not reading.done():
            writer.write(b"".join(itertools.islice(frames, 10)))
            await writer.drain()
            await asyncio.sleep(0.1)
    finally:
        reading.cancel()


async def _swallow(reader):
    while await reader.read(65_536):
        pass


async def half_open(port, until):
    """Connections on which a request begins and does not end."""
    waiting = []
    for tried in itertools.count():
        if tried == HALF_OPEN:
            _say_once("attacking")
        if time.monotonic() > until:
            break
        with contextlib.suppress(OSError, TimeoutError):
            if len(waiting) < HALF_OPEN:
                _, writer = await _open(port)
                writer.write(b"GET / HTTP/1.1\r\nHost: ")
                waiting.append(writer)
        await asyncio.sleep(0.001)
        waiting = [writer for writer in waiting if not writer.transport.is_closing()]
    for writer in waiting:
        writer.transport.abort()


ATTACKS = {
    attack.__name__: attack
    for attack in (
        foreign_bodies,
        own_bodies,
        tiny_chunks,
        requests,
        large_frames,
        large_comments,
        pings,
        empty_fragments,
        hellos,
        short_games,
        many_sockets,
    )
}
ATTACKERS = {many_sockets.__name__: 100}  # connections at a time; otherwise 4


async def main(name, port, cookie):
    until = time.monotonic() + SECONDS
    if name == half_open.__name__:
        await half_open(port, until)
        return
    attackers = range(ATTACKERS.get(name, 4))
    await asyncio.gather(*(_again_and_again(ATTACKS[name], port, cookie, until) for _ in attackers))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
