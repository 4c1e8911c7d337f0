"""A small HTTP/1.1 server: one thread a connection, bounded in number, in bytes and in patience."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

HEADER_BYTES = 16384
BODY_BYTES = 16 * 1024 * 1024
LARGE_BYTES = 1024 * 1024
LARGE_AT_ONCE = 3
CONNECTIONS = 128
FIRST_BYTES_SECONDS = 15.0
KEEP_ALIVE_SECONDS = 75.0
STALL_SECONDS = 10.0
"""Longest pause within one request or answer."""
REQUEST_SECONDS = 60.0

_PHRASES = {
    200: "OK", 202: "Accepted", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed",
    408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required", 413: "Content Too Large",
    416: "Range Not Satisfiable", 423: "Locked", 431: "Request Header Fields Too Large", 500: "Internal Server Error",
    501: "Not Implemented", 503: "Service Unavailable",
}  # fmt: skip


class Request(NamedTuple):
    """One request; header names in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


class Response(NamedTuple):
    """One answer; ``length`` is that of the body's pieces together."""

    status: int
    body: Iterable[bytes]
    length: int
    headers: dict[str, str]


class BadRequestError(Exception):
    """What came is not HTTP, or more than is taken; the connection is closed after the answer."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Server:
    """Hands each request to ``handle``; ``admit`` sees it first, without its body, and may answer instead."""

    def __init__(
        self,
        listener: socket.socket,
        *,
        admit: Callable[[Request], Response | None],
        handle: Callable[[Request], Response],
        refuse: Callable[[int, str], Response],
    ) -> None:
        """Serve on ``listener``; ``refuse`` makes the answer for what is not a proper request."""
        self._listener = listener
        self._admit, self._handle, self._refuse = admit, handle, refuse
        self._connections = threading.Semaphore(CONNECTIONS)
        self._large = threading.BoundedSemaphore(LARGE_AT_ONCE)

    def run(self) -> None:
        """Accept for ever."""
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                time.sleep(0.05)
                continue
            if not self._connections.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection: socket.socket) -> None:
        try:
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                patience = FIRST_BYTES_SECONDS
                reader = _Reader(connection)
                while self._exchange(connection, reader, patience):
                    patience = KEEP_ALIVE_SECONDS
        except OSError:
            return
        finally:
            self._connections.release()

    def _exchange(self, connection: socket.socket, reader: _Reader, patience: float) -> bool:
        """Serve one request; return whether another may follow."""
        large = False
        try:
            head = reader.head(patience)
            if head is None:
                return False
            request, length, keep = _parsed(head)
            answer = self._admit(request)
            if answer is not None and length:
                keep = False
            if answer is None:
                large = length > LARGE_BYTES and self._admit_large()
                if request.headers.get("expect", "").lower() == "100-continue":
                    connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                answer = self._handle(request._replace(body=reader.take(length)))
        except BadRequestError as error:
            answer, keep = self._refuse(error.status, str(error)), False
        finally:
            if large:
                self._large.release()
        _send(connection, answer, keep=keep)
        return keep

    def _admit_large(self) -> bool:
        if not self._large.acquire(timeout=STALL_SECONDS):
            raise BadRequestError(503, "too many large requests at once")
        return True


class _Reader:
    """Bytes of one connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._buffer = b""
        self._until = 0.0

    def head(self, patience: float) -> bytes | None:
        """Return the next request's head, None when the client has left or says nothing for ``patience`` seconds."""
        self._connection.settimeout(patience)
        if not self._buffer:
            try:
                self._buffer = self._connection.recv(65536)
            except TimeoutError:
                return None
            if not self._buffer:
                return None
        self._until = time.monotonic() + REQUEST_SECONDS
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > HEADER_BYTES:
                raise BadRequestError(431, "the header is too long")
            self._buffer += self._more()
        head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
        if len(head) > HEADER_BYTES:
            raise BadRequestError(431, "the header is too long")
        return head

    def take(self, length: int) -> bytes:
        """Return the next ``length`` bytes."""
        pieces, have = [self._buffer[:length]], min(len(self._buffer), length)
        self._buffer = self._buffer[length:]
        while have < length:
            piece = self._more()
            self._buffer = piece[length - have :]
            piece = piece[: length - have]
            pieces.append(piece)
            have += len(piece)
        return b"".join(pieces)

    def _more(self) -> bytes:
        self._connection.settimeout(STALL_SECONDS)
        try:
            data = self._connection.recv(262144)
        except TimeoutError as error:
            raise BadRequestError(408, "the request stalled") from error
        if not data:
            raise ConnectionResetError("the client left")
        if time.monotonic() > self._until:
            raise BadRequestError(408, "the request took too long")
        return data


def _parsed(head: bytes) -> tuple[Request, int, bool]:
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or words[2] not in {"HTTP/1.1", "HTTP/1.0"} or not words[1].startswith("/"):
        raise BadRequestError(400, "not an HTTP/1.1 request")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if (
            not colon
            or not name
            or name != name.strip()
            or (name.lower() == "content-length" and name.lower() in headers)
        ):
            raise BadRequestError(400, "not a header")
        headers[name.lower()] = value.strip()
    if "transfer-encoding" in headers:
        raise BadRequestError(411, "give a Content-Length")
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise BadRequestError(400, "not a Content-Length")
    if len(length) > 12 or int(length) > BODY_BYTES:
        raise BadRequestError(413, f"the body may have {BODY_BYTES} bytes")
    try:
        target = urlsplit(words[1])
        query = dict(parse_qsl(target.query, keep_blank_values=True, max_num_fields=20))
    except ValueError as error:
        raise BadRequestError(400, "not a target") from error
    keep = words[2] == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
    return Request(words[0], unquote(target.path), query, headers, b""), int(length), keep


def _send(connection: socket.socket, answer: Response, *, keep: bool) -> None:
    connection.settimeout(STALL_SECONDS)
    fields = answer.headers | {"Content-Length": str(answer.length), "Connection": "keep-alive" if keep else "close"}
    lines = [f"HTTP/1.1 {answer.status} {_PHRASES.get(answer.status, '')}"]
    lines += [f"{name}: {value}" for name, value in fields.items()]
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")
    for piece in answer.body:
        connection.sendall(head + piece)
        head = b""
    if head:
        connection.sendall(head)
