"""An agent that knows the answer: it applies REPLAY_PATCH in its sandbox by tool calls, and submits.

Standard library only, so that it runs in any image with Python.  Without REPLAY_PATCH it looks around and ends without a
submission.  It speaks the Open Reward Standard by hand; an agent of your own would rather use ``ors-sdk`` or ``openreward``.

Environment, as Assay sets it for ``spec.agent``: ASSAY_URL, ASSAY_API_KEY, ASSAY_ENVIRONMENT, ASSAY_TASK.
"""

import base64
import json
import os
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

URL = os.environ["ASSAY_URL"].rstrip("/")
ENVIRONMENT = os.environ["ASSAY_ENVIRONMENT"]
TRIES = 60


def request(method: str, path: str, body: object = None, session: str = "", stream: bool = False) -> Any:
    """Send one request; the answer's JSON, or for a stream what its events say together."""
    headers = {"X-API-Key": os.environ["ASSAY_API_KEY"], "Content-Type": "application/json"}
    if session:
        headers["X-Session-ID"] = session
    if stream:
        headers["Accept"] = "text/event-stream"
    data = json.dumps(body).encode() if body is not None else b"" if method == "POST" else None
    for attempt in range(TRIES):
        try:
            made = urllib.request.Request(URL + path, data=data, headers=headers, method=method)
            with urllib.request.urlopen(made, timeout=60) as answer:
                return told(answer) if stream else json.load(answer)
        except urllib.error.HTTPError as error:
            said = error.read().decode("utf-8", "replace")
            if error.code != 503:
                sys.exit(f"{method} {path}: {error.code}: {said}")
        except OSError as error:
            print(f"{method} {path}: {error}", flush=True)
        time.sleep(min(5, 1 + attempt))
    sys.exit(f"{method} {path}: no answer")


def told(lines: Iterator[bytes]) -> Any:
    """Read an event stream to its end: the identifier that it begins with, or the JSON in its pieces."""
    event, text, identifier = "", "", ""
    for raw in lines:
        line = raw.decode().rstrip("\r\n")
        if line.startswith("event:"):
            event = line[6:].strip()
        elif line.startswith("data:"):
            value = line[5:].lstrip()
            if event == "task_id":
                identifier = value
            elif event == "error":
                sys.exit(f"the gateway says: {value}")
            else:
                text += value
        if event == "end" and not line:
            break
    return json.loads(text) if text else identifier


def call(session: str, name: str, **arguments: object) -> dict[str, Any]:
    """Call a tool and show what it says."""
    body = {"name": name, "input": arguments}
    result = request("POST", f"/{ENVIRONMENT}/call", body, session, stream=True)
    if not result["ok"]:
        sys.exit(f"{name} was refused: {result['error']}")
    output: dict[str, Any] = result["output"]
    print(f"{name}: {output['blocks'][0]['text']}", flush=True)
    return output


def main() -> None:
    """Play one episode."""
    opened = request("POST", "/create_session", {}, stream=True)
    session = opened["sid"] if isinstance(opened, dict) else opened
    task = {"task": os.environ["ASSAY_TASK"]}
    request("POST", "/create", {"env_name": ENVIRONMENT, "task_spec": task}, session)
    print(request("GET", f"/{ENVIRONMENT}/prompt", session=session)[0]["text"][:500], flush=True)
    call(session, "bash", command="git log --oneline | head -3; git status --short | head", description="look around")
    patch = os.environ.get("REPLAY_PATCH", "")
    if not patch:
        return
    encoded = base64.b64encode(patch.encode()).decode()
    call(session, "bash", command=f"printf %s {encoded} | base64 -d | git apply -", description="apply the answer")
    done = call(session, "submit_answer")
    print(f"reward {done['reward']}, finished {done['finished']}", flush=True)


if __name__ == "__main__":
    main()
