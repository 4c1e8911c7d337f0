"""An agent that knows the answer: it applies REPLAY_PATCH in its sandbox by tool calls, and submits.

Standard library only, so that it runs in any image with Python.  Without REPLAY_PATCH it looks around and ends without a
submission.  With REPLAY_CALLS it first makes so many calls that leave a trace each, and ends with an error if
one of them was lost or ran twice.  It speaks the Open Reward Standard by hand; an agent of your own would rather use ``ors-sdk`` or ``openreward``.

Environment, as Assay sets it for ``spec.agent``: ASSAY_URL, ASSAY_API_KEY, ASSAY_ENVIRONMENT, ASSAY_TASK.
"""

import base64
import http.client
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


def opened(method: str, path: str, body: object, session: str, accept: str) -> Any:
    """Send one request and return the open answer; waits out a gateway that is away or still starting."""
    headers = {"X-API-Key": os.environ["ASSAY_API_KEY"], "Content-Type": "application/json", "Accept": accept}
    if session:
        headers["X-Session-ID"] = session
    data = json.dumps(body).encode() if body is not None else b"" if method == "POST" else None
    for attempt in range(TRIES):
        try:
            made = urllib.request.Request(URL + path, data=data, headers=headers, method=method)
            return urllib.request.urlopen(made, timeout=60)
        except urllib.error.HTTPError as error:
            said = error.read().decode("utf-8", "replace")
            if error.code not in (502, 503, 504):
                sys.exit(f"{method} {path}: {error.code}: {said}")
        except OSError as error:
            print(f"{method} {path}: {error}", flush=True)
        time.sleep(min(5, 1 + attempt))
    sys.exit(f"{method} {path}: no answer")


def asked(method: str, path: str, body: object = None, session: str = "") -> Any:
    """Send one request and return its answer's JSON."""
    with opened(method, path, body, session, "application/json") as answer:
        return json.load(answer)


def events(answer: Any) -> Iterator[tuple[str, str]]:
    """Yield the events of a stream: name and data."""
    event = ""
    for raw in answer:
        line = raw.decode().rstrip("\r\n")
        if line.startswith("event:"):
            event = line[6:].strip()
        elif line.startswith("data:"):
            yield event, line[5:].lstrip()


def called(session: str, name: str, arguments: dict[str, object]) -> dict[str, Any]:
    """Make a call and return its result; a stream that breaks off is taken up again by the call's identifier."""
    body: dict[str, object] = {"name": name, "input": arguments}
    for _ in range(TRIES):
        text = ""
        try:
            with opened("POST", f"/{ENVIRONMENT}/call", body, session, "text/event-stream") as answer:
                for event, data in events(answer):
                    if event == "task_id":
                        body["task_id"] = data
                    elif event == "error":
                        sys.exit(f"the gateway says: {data}")
                    else:
                        text += data
                    if event == "end":
                        result: dict[str, Any] = json.loads(text)
                        return result
        except (OSError, http.client.HTTPException) as error:
            print(f"{name}: {error}", flush=True)
        time.sleep(1)
    sys.exit(f"{name}: no result")


def call(session: str, name: str, **arguments: object) -> dict[str, Any]:
    """Call a tool and show what it says."""
    result = called(session, name, arguments)
    if not result["ok"]:
        sys.exit(f"{name} was refused: {result['error']}")
    output: dict[str, Any] = result["output"]
    print(f"{name}: {output['blocks'][0]['text']}", flush=True)
    return output


def main() -> None:
    """Play one episode."""
    session = asked("POST", "/create_session", {})["sid"]
    task = {"task": os.environ["ASSAY_TASK"]}
    asked("POST", "/create", {"env_name": ENVIRONMENT, "task_spec": task}, session)
    print(asked("GET", f"/{ENVIRONMENT}/prompt", session=session)[0]["text"][:500], flush=True)
    call(session, "bash", command="git log --oneline | head -3; git status --short | head", description="look around")
    calls = int(os.environ.get("REPLAY_CALLS", "0"))
    for number in range(calls):
        call(session, "bash", command=f"echo {number} >>/tmp/calls; sleep 1", description="leave a trace")
    traces = call(session, "bash", command="cat /tmp/calls; true", description="read the traces")
    wanted = "".join(f"{number}\n" for number in range(calls))
    if calls and not traces["blocks"][0]["text"].startswith(f"{wanted}Exit code: 0"):
        sys.exit("a call was lost, or ran twice")
    patch = os.environ.get("REPLAY_PATCH", "")
    if not patch:
        return
    encoded = base64.b64encode(patch.encode()).decode()
    call(session, "bash", command=f"printf %s {encoded} | base64 -d | git apply -", description="apply the answer")
    done = call(session, "submit_answer")
    print(f"reward {done['reward']}, finished {done['finished']}", flush=True)


if __name__ == "__main__":
    main()
