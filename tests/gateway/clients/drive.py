"""Drives a gateway by a published client, in the client's own virtual environment: drive.py CLIENT URL KEY SCENARIO.

Prints one JSON object: what the scenario saw.
"""

import json
import os
import sys

os.environ["OPENREWARD_DISABLE_UPDATE_CHECK"] = "1"


def opened(client, url, key):
    """The client object (which must live as long as its environment) and the environment ``lanterns``."""
    if client == "ors-sdk":
        from ors.client import ORS  # noqa: PLC0415 - each client is in its own environment

        ors = ORS(base_url=url, api_key=key)
        return ors, ors.environment("lanterns")
    from openreward import OpenReward  # noqa: PLC0415 - each client is in its own environment

    reward = OpenReward(api_key=key)
    return reward, reward.environments.get("lanterns", base_url=url)


def text_of(output):
    return "".join(block.text for block in output.blocks)


def bash(session, command):
    return text_of(session.call_tool("bash", {"command": command, "description": "a test"}))


def fault(act):
    """The name and the text of what ``act`` raises."""
    try:
        act()
    except Exception as error:
        return [type(error).__name__, str(error)[:500]]
    return None


def told(output):
    return [text_of(output), output.reward, output.finished]


def tasks_of(tasks):
    return [task.task_spec for task in tasks]


def whole(environment):
    seen = {
        "splits": list(environment.list_splits()),
        "count": environment.num_tasks("train"),
        "tasks": tasks_of(environment.list_tasks("train")),
        "task": environment.get_task("train", 1).task_spec,
        "range": tasks_of(environment.get_task_range("train", 0, 1)),
        "tools": [tool.name for tool in environment.list_tools()],
        "openai": len(environment.list_tools(format="openai")),
        "anthropic": len(environment.list_tools(format="anthropic")),
        "google": len(environment.list_tools(format="google")),
    }
    with environment.session(split="train", index=0) as session:
        seen["prompt"] = session.get_prompt()[0].text
        if hasattr(session, "get_messages"):
            seen["messages"] = len(session.get_messages(format="openai"))
        seen["task_tools"] = [tool.name for tool in session.list_tools()]
        seen["made"] = told(
            session.call_tool(
                "create_file", {"path": "f.py", "file_text": "def f():\n    return 1\n", "description": "x"}
            )
        )
        edit = {"path": "f.py", "old_str": "return 1", "new_str": "return 2", "description": "x"}
        seen["edited"] = told(session.call_tool("str_replace", edit))
        seen["viewed"] = told(session.call_tool("view", {"path": "f.py", "description": "x"}))
        program = "for n in range(500): print(' ' * (n % 130) + f'line {n}')\nprint(' ' * 9000 + 'end')"
        seen["spaced"] = bash(session, f'python3 -c "{program}"')
        seen["invalid"] = fault(lambda: session.call_tool("bash", {"command": 5, "description": "x"}))
        seen["unknown"] = fault(lambda: session.call_tool("rm", {}))
        seen["after_faults"] = bash(session, "echo right >answer; echo on")
        seen["submitted"] = told(session.call_tool("submit_answer", {}))
        seen["after_end"] = [fault(lambda: bash(session, "true")) for _ in range(2)]
    return seen


def by_task(environment):
    with environment.session(task=environment.get_task("train", 1)) as session:
        first = bash(session, "echo wrong >answer")
        return {"first": first, "submitted": told(session.call_tool("submit_answer", {}))}


def told_to_go_on():
    print("ready", flush=True)
    sys.stdin.readline()


def slow_call(environment):
    with environment.session(split="train", index=0) as session:
        prompt = session.get_prompt()[0].text
        bash(session, "true")
        told_to_go_on()
        text = bash(session, "echo ran >>log; sleep 33; cat log")
        return {"prompt": prompt, "text": text, "next": bash(session, "cat log")}


def slow_start(environment):
    with environment.session(split="train", index=0) as session:
        prompt = session.get_prompt()[0].text
        told_to_go_on()
        text = bash(session, "echo ran >>log; cat log")
        return {"prompt": prompt, "text": text, "next": bash(session, "cat log")}


def restart(environment):
    with environment.session(split="train", index=0) as session:
        bash(session, "true")
        told_to_go_on()
        text = bash(session, "echo ran >>log; sleep 8; cat log")
        return {"text": text, "next": bash(session, "cat log")}


def cut(environment):
    with environment.session(split="train", index=0) as session:
        return {"first": bash(session, "echo ran >>log; sleep 1; cat log"), "next": bash(session, "cat log")}


def expired(environment):
    with environment.session(split="train", index=0) as session:
        bash(session, "true")
        told_to_go_on()
        return {"fault": fault(lambda: bash(session, "true"))}


def toolset(environment):
    def enter():
        with environment.session(split="train", index=0, toolset="codex"):
            pass

    return {"fault": fault(enter)}


def wrong_key(environment):
    return {"fault": fault(lambda: environment.num_tasks("train"))}


def main():
    client, url, key, scenario = sys.argv[1:]
    keeper, environment = opened(client, url, key)
    seen = globals()[scenario](environment)
    print(json.dumps(seen), flush=True)
    del keeper
    os._exit(0)  # the clients' threads may hold the interpreter


if __name__ == "__main__":
    main()
