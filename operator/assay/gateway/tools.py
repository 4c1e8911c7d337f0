"""Carry out one tool by calls of the sandbox's hands.

Everything may be done again from the start after a lost connection: each call has an id that the hands know, so that it
runs once and its answer stays the same.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import shlex
from collections.abc import AsyncIterator, Mapping
from typing import Any

from assay.domain.keys import call_id, owns_call
from assay.domain.ors.calls import CallState, call_state
from assay.domain.ors.edits import changed
from assay.domain.ors.results import Output, Refused, Result
from assay.domain.ors.texts import OUTPUT_BYTES, OUTPUTS, LineWindow, is_binary, output_text, with_exit_code
from assay.domain.ors.tools import MAX_TEXT_BYTES, Bash, CreateFile, StrReplace, View
from assay.kube.hands import Hands, HandsError

CHUNK = 1 << 20
POLL_SECONDS = 60.0
LISTED = 100
TIMEOUT_EXIT = 124
CHANGED_EXIT = 3
"""The hands wrote nothing: the file was not the one that was read any more."""
EDIT_ATTEMPTS = 20


class Toolbox:
    """Tools of one sandbox, for the call ``identifier``."""

    def __init__(  # noqa: PLR0913 - what a call needs to know
        self, hands: Hands, *, master: bytes, uid: str, identifier: str, seconds: int, editing: asyncio.Lock
    ) -> None:
        self._hands = hands
        self._master = master
        self._uid = uid
        self._identifier = identifier
        self._seconds = seconds
        self._editing = editing

    async def run(self, tool: Bash | View | StrReplace | CreateFile) -> Result:
        """Return what the tool answers."""
        match tool:
            case Bash():
                return await self._bash(tool)
            case View():
                return await self._view(tool)
            case StrReplace():
                async with self._editing:  # an edit is a read and a write: another one between them would be lost
                    return await self._str_replace(tool)
            case CreateFile():
                return await self._create_file(tool)

    async def _bash(self, tool: Bash) -> Result:
        state = await self._call({"script": tool.command, "timeoutSeconds": self._seconds})
        text = await self._bounded(self._identifier, state)
        if state.timed_out:
            text += f"\n[The command ran longer than {self._seconds} s and was ended; the sandbox goes on.]"
        elif state.error:
            text += f"\n[{state.error}]"
        return _answer("bash", text, _exit_code_of(state), state)

    async def _view(self, tool: View) -> Result:
        if tool.path.startswith(OUTPUTS):
            return await self._view_output(tool)
        state = await self._call({"read": tool.path})
        if _failed(state):
            return await self._view_other(tool, await self._said(self._identifier, state))
        window = LineWindow(first=tool.first, last=tool.last)
        async for chunk in self._chunks(self._identifier, state):
            if is_binary(chunk):
                text = f"{tool.path} is a binary file of {state.output_bytes} bytes; look at it by bash, for example with od or strings."
                return _answer("view", text, 0, state)
            window.feed(chunk)
            if window.enough:
                break
        return _answer("view", window.text(), 0, state)

    async def _view_output(self, tool: View) -> Result:
        other = tool.path.removeprefix(OUTPUTS)
        if not owns_call(self._master, uid=self._uid, identifier=other):
            return _failure("view", f"{tool.path}: no call of this episode had such an output")
        window = LineWindow(first=tool.first, last=tool.last, fold=True)
        try:
            state = call_state(await self._hands.wait(other, POLL_SECONDS))
            async for chunk in self._chunks(other, state):
                window.feed(chunk)
                if window.enough:
                    break
        except HandsError as error:
            if error.status not in (404, 410):
                raise
            return _failure("view", f"{tool.path}: {error.message}")
        return _answer("view", window.text(), 0, state)

    async def _view_other(self, tool: View, said: str) -> Result:
        """What is no file may be a directory."""
        path = shlex.quote(tool.path)
        script = (
            f"cd -- {path} 2>/dev/null || exit 3; find . -maxdepth 2 ! -path . \\( -name '.*' -o -name node_modules \\)"
            f" -prune -o ! -path . -print | LC_ALL=C sort | head -n {LISTED + 1}"
        )
        listed = await self._call({"script": script, "timeoutSeconds": min(60, self._seconds)}, step=1)
        if listed.exit_code != 0 or listed.timed_out:
            return _failure("view", said)
        content = b"".join([chunk async for chunk in self._chunks(self._step(1), listed)])
        lines = content.decode("utf-8", "replace").splitlines()
        more = f"\n[only the first {LISTED} entries are shown]" if len(lines) > LISTED else ""
        text = "\n".join(lines[:LISTED]) or "(empty directory)"
        return _answer("view", f"{tool.path}, two levels deep:\n{text}{more}", 0, listed)

    async def _str_replace(self, tool: StrReplace) -> Result:
        for attempt in range(EDIT_ATTEMPTS):
            result = await self._edited(tool, step=2 * attempt)
            if result is not None:
                return result
        return _failure("str_replace", f"{tool.path} is changed again and again by others; nothing was changed")

    async def _edited(self, tool: StrReplace, *, step: int) -> Result | None:
        """Read, then write what was read with the change; None when the file was another one by then."""
        reading = self._step(step)
        state = await self._call({"read": tool.path}, step=step)
        if _failed(state):
            return _failure("str_replace", await self._said(reading, state))
        if state.output_bytes > MAX_TEXT_BYTES:
            return _failure("str_replace", f"{tool.path} has {state.output_bytes} bytes; edit it by bash")
        content = b"".join([chunk async for chunk in self._chunks(reading, state)])
        if len(content) != state.output_bytes:
            return _failure("str_replace", f"{tool.path}: the file could not be read as a whole; edit it by bash")
        change = changed(content, tool)
        if isinstance(change, str):
            return _failure("str_replace", change)
        writing = _writing(tool.path, change.content, "keep") | {"replaces": hashlib.sha256(content).hexdigest()}
        written = await self._call({"write": writing}, step=step + 1)
        if written.exit_code == CHANGED_EXIT:
            return None
        if _failed(written):
            return _failure("str_replace", await self._said(self._step(step + 1), written))
        return _answer("str_replace", f"{tool.path}: replaced the text at line {change.line}.", 0, written)

    async def _create_file(self, tool: CreateFile) -> Result:
        content = tool.text.encode()
        state = await self._call({"write": _writing(tool.path, content, "create")})
        if _failed(state):
            return _failure("create_file", await self._said(self._identifier, state))
        return _answer("create_file", f"{tool.path}: wrote {len(content)} bytes.", 0, state)

    async def _call(self, body: Mapping[str, Any], *, step: int = 0) -> CallState:
        identifier = self._step(step)
        started = await self._hands.start(identifier, body, seconds=POLL_SECONDS, output=OUTPUT_BYTES)
        state = call_state(started)  # one request is enough for a short call
        while not state.done:
            state = call_state(await self._hands.wait(identifier, POLL_SECONDS, output=OUTPUT_BYTES))
        return state

    def _step(self, step: int) -> str:
        """Return the id of a tool's further call at the hands, made from the first one's."""
        nonce = self._identifier.rpartition("-")[0]
        return call_id(self._master, uid=self._uid, nonce=f"{nonce}{step:02d}") if step else self._identifier

    async def _said(self, identifier: str, state: CallState) -> str:
        """Return why a file could not be read or written: the call's own words."""
        words = (await self._bounded(identifier, state)).rstrip() if state.output_bytes else ""
        if state.timed_out:
            words = f"{words}\n[took longer than its time]".strip()
        return "\n".join(filter(None, (words, state.error))) or f"failed with exit code {state.exit_code}"

    async def _bounded(self, identifier: str, state: CallState) -> str:
        total = state.output_bytes
        if state.output is not None:
            return output_text(state.output, b"", total=total, identifier=identifier)
        if total <= OUTPUT_BYTES:
            if not total:
                return output_text(b"", b"", total=0, identifier=identifier)
            whole, _, _ = await self._hands.output(identifier, offset=0, limit=OUTPUT_BYTES)
            return output_text(whole, b"", total=len(whole), identifier=identifier)
        half = OUTPUT_BYTES // 2
        head, _, _ = await self._hands.output(identifier, offset=0, limit=half)
        tail, _, _ = await self._hands.output(identifier, offset=total - half, limit=half)
        return output_text(head, tail, total=total, identifier=identifier)

    async def _chunks(self, identifier: str, state: CallState) -> AsyncIterator[bytes]:
        if state.output is not None:
            yield state.output
            return
        offset = 0
        while offset < state.output_bytes:
            content, begin, _ = await self._hands.output(identifier, offset=offset, limit=CHUNK)
            if not content:
                return
            if begin > offset:
                yield f"\n[{begin - offset} bytes were not kept]\n".encode()
            yield content
            offset = begin + len(content)


def conflict(tool: str) -> Refused:
    """Return the answer to a call whose id was another call's."""
    return Refused(text=f"this task_id belongs to another call than this one of {tool}", reason="input_validation")


def _writing(path: str, content: bytes, mode: str) -> dict[str, str]:
    return {"path": path, "content": base64.b64encode(content).decode(), "mode": mode}


def _failed(state: CallState) -> bool:
    return bool(state.error) or state.timed_out or state.exit_code != 0


def _exit_code_of(state: CallState) -> int:
    if state.timed_out:
        return TIMEOUT_EXIT
    return 1 if state.exit_code is None else state.exit_code


def _answer(tool: str, text: str, code: int, state: CallState) -> Output:
    metadata = {
        "ok": code == 0,
        "tool": tool,
        "exit_code": code,
        "seconds": round(state.seconds, 3),
        "output_bytes": state.output_bytes,
        "timed_out": state.timed_out,
    }
    return Output(text=with_exit_code(text, code), metadata=metadata)


def _failure(tool: str, text: str) -> Output:
    return Output(text=with_exit_code(text, 1), metadata={"ok": False, "tool": tool, "exit_code": 1})
