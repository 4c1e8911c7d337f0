"""The routes: a request -> what the engine is asked -> an answer in JSON or in raw bytes."""

from __future__ import annotations

import hashlib
import hmac
import time
from binascii import b2a_base64
from collections.abc import Callable, Iterator
from json import dumps, loads

from assay.witness.hands.call import DONE, Call
from assay.witness.hands.engine import ConflictError, Engine, LockedError, NotReadyError
from assay.witness.hands.http import Request, Response
from assay.witness.hands.jobs import BadRequestError, digest_of, job_of
from assay.witness.hands.spool import Spool

WAIT_SECONDS = 20.0
PIECE_BYTES = 1048576
OUTPUT_BYTES = 16 * 1024 * 1024
"""Most bytes of one answer of output."""
INLINE_BYTES = 65536
"""Most bytes of output within the answer that tells of a call's end."""
MOST_SUBMISSIONS = 1000000

# What serve.sh's exit code of a capture means.
_CAPTURE_REASONS = {3: (409, "NothingCaptured"), 4: (413, "SubmissionTooLarge")}


def answer_json(status: int, value: object, headers: dict[str, str] | None = None) -> Response:
    """Return an answer whose body is ``value``."""
    body = dumps(value).encode() + b"\n"
    return Response(status, (body,), len(body), {"Content-Type": "application/json"} | (headers or {}))


def refusal(status: int, why: str, reason: str = "") -> Response:
    """Return an answer that says no."""
    return answer_json(status, {"error": why} | ({"reason": reason} if reason else {}))


class Api:
    """The HTTP API over one engine."""

    def __init__(self, engine: Engine, key: str, isolation: Callable[[], dict[str, object]]) -> None:
        """Ask for ``key``; ``isolation`` tells what was seen of it."""
        self._engine = engine
        self._key = f"Bearer {key}".encode()
        self._isolation = isolation

    def admit(self, request: Request) -> Response | None:
        """Answer what needs no key and refuse what lacks it; None for the rest."""
        if request.path == "/readyz":
            ready, reason = self._engine.ready, self._engine.reason
            return answer_json(200, {"ready": True}) if ready else refusal(503, reason, "NotReady")
        given = request.headers.get("authorization", "").encode("utf-8", "replace")
        return None if hmac.compare_digest(given, self._key) else refusal(401, "the key is missing or wrong")

    def handle(self, request: Request) -> Response:
        """Answer a request that was admitted."""
        try:
            return self._route(request)
        except BadRequestError as error:
            return refusal(400, str(error))
        except _NotFoundError:
            return refusal(404, "no call has this id", "UnknownCall")
        except ConflictError as error:
            return refusal(409, str(error), "Conflict")
        except LockedError as error:
            return refusal(423, str(error), "Locked")
        except NotReadyError as error:
            return refusal(503, str(error), "NotReady")
        except OSError as error:
            return refusal(503, str(error), "Storage")

    def _route(self, request: Request) -> Response:
        match (request.method, *request.path.removeprefix("/v1/").split("/")):
            case ("GET", "state"):
                return self._state()
            case ("POST", "touch"):
                self._engine.touch()
                return answer_json(200, {})
            case ("PUT", "calls", identifier):
                return self._put(identifier, request)
            case ("GET", "calls", identifier):
                return self._get(identifier, request)
            case ("GET", "calls", identifier, "output"):
                return self._output(identifier, request)
            case ("POST", "calls", identifier, "cancel"):
                self._engine.cancel(self._call(identifier))
                return self._view(self._call(identifier))
            case ("POST", "submissions", number):
                return self._submit(_number(number), _seconds(request, WAIT_SECONDS))
            case ("POST", "submissions", number, "release"):
                self._engine.release(_number(number))
                return answer_json(200, {})
            case _:
                return refusal(404, f"there is no {request.method} {request.path[:200]}")

    def _state(self) -> Response:
        facts = dict(self._engine.facts)
        told = {name: facts.pop(name, None) for name in ("base", "baseIs", "workdir", "top", "shell", "root")}
        removed = {name: int(value) if value.isdecimal() else None for name, value in facts.items()}
        return answer_json(200, self._engine.summary() | told | {"isolation": self._isolation(), "history": removed})

    def _put(self, identifier: str, request: Request) -> Response:
        if not (0 < len(identifier) <= 200 and identifier.isascii() and identifier.replace("-", "").isalnum()):
            raise BadRequestError("an id has at most 200 letters, digits and hyphens")
        try:
            body = loads(request.body)
        except (ValueError, RecursionError) as error:
            raise BadRequestError("the body is not JSON") from error
        job_of(body, "")
        return self._waited(self._engine.put(identifier, digest_of(body), body), request, fresh=202)

    def _get(self, identifier: str, request: Request) -> Response:
        return self._waited(self._call(identifier), request)

    def _waited(self, call: Call, request: Request, fresh: int = 200) -> Response:
        """Answer once the call is done, or after ``wait`` seconds; with its whole output, if that is short as asked."""
        most = _count(request.query.get("output", "0"), "output")
        self._engine.wait(call, _seconds(request, 0.0))
        return self._view(call, fresh, most=min(most, INLINE_BYTES))

    def _output(self, identifier: str, request: Request) -> Response:
        call = self._call(identifier)
        offset = _count(request.query.get("offset", "0"), "offset")
        limit = min(_count(request.query.get("limit", str(OUTPUT_BYTES)), "limit"), OUTPUT_BYTES)
        spool = self._engine.spool_of(call)
        if spool is None and call.output_bytes:
            return refusal(410, "the output was dropped to make room for later calls", "OutputDropped")
        total = min(spool.total, call.output_bytes) if spool and call.state == DONE else spool.total if spool else 0
        gap = spool.omitted if spool else None
        if gap and gap[0] <= offset < gap[1]:
            offset = gap[1]
        end = min(offset + limit, gap[0] if gap and offset < gap[0] else total)
        headers = {"Content-Type": "application/octet-stream", "X-Output-Bytes": str(total), "X-Offset": str(offset)}
        length = max(0, end - offset)
        return Response(200, _pieces(spool, offset, length) if spool and length else (), length, headers)

    def _submit(self, number: int, seconds: float) -> Response:
        call = self._engine.submit(number)
        self._engine.wait(call, seconds)
        if call.state != DONE:
            return self._view(call, fresh=202)
        spool = self._engine.spool_of(call)
        if call.exit_code == 0 and spool and not spool.omitted:
            digest = hashlib.sha256()
            for piece in _pieces(spool, 0, spool.total):
                digest.update(piece)
            headers = {"Content-Type": "application/octet-stream", "X-Sha256": digest.hexdigest()}
            return Response(200, _pieces(spool, 0, spool.total), spool.total, headers)
        if call.exit_code == 0:
            return refusal(413, "the diff is too large", "SubmissionTooLarge")
        status, reason = _CAPTURE_REASONS.get(call.exit_code or 0, (500, "CaptureFailed"))
        words = spool.read(0, 4000)[1].decode("utf-8", "replace").strip() if spool else ""
        return refusal(status, call.error or words or "the diff could not be taken", reason)

    def _call(self, identifier: str) -> Call:
        found = self._engine.calls.get(identifier)
        if found is None:
            raise _NotFoundError
        return found

    def _view(self, call: Call, fresh: int = 200, *, most: int = 0) -> Response:
        with self._engine.changed:
            view = call.view(time.monotonic())
        if view["state"] != DONE:
            return answer_json(fresh, view)
        return answer_json(200, view | (self._inline(call) if most and call.output_bytes <= most else {}))

    def _inline(self, call: Call) -> dict[str, object]:
        """The whole output, unless some of it is gone."""
        spool = self._engine.spool_of(call) if call.output_bytes else None
        if call.output_bytes and (spool is None or call.omitted):
            return {}
        content = b"".join(_pieces(spool, 0, call.output_bytes)) if spool else b""
        return {"output": b2a_base64(content, newline=False).decode()}


class _NotFoundError(Exception):
    """No call has this id."""


def _pieces(spool: Spool, offset: int, length: int) -> Iterator[bytes]:
    while length > 0:
        offset, data = spool.read(offset, min(length, PIECE_BYTES))
        if not data:
            raise OSError("the output is gone")
        yield data
        offset += len(data)
        length -= len(data)


def _number(text: str) -> int:
    number = _count(text, "submission")
    if not 0 < number <= MOST_SUBMISSIONS:
        raise BadRequestError("submissions are counted from 1")
    return number


def _count(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise BadRequestError(f"{name} must be a whole number")
    return int(text)


def _seconds(request: Request, default: float) -> float:
    try:
        value = float(request.query.get("wait", default))
    except ValueError as error:
        raise BadRequestError("wait must be a number of seconds") from error
    if not value >= 0:
        raise BadRequestError("wait must be a number of seconds")
    return min(value, WAIT_SECONDS)
