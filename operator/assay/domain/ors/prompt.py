"""What an agent is asked to do: one text, made from the task alone, so that it needs no sandbox."""

from __future__ import annotations

from assay.api.v1alpha1 import Task

_NO_INTERFACE = "no new interfaces"


def prompt_of(task: Task, *, offline: bool = True) -> str:
    """Return the prompt.  It names no test and nothing of the reference patch."""
    place = f"at `{task.workdir}`" if task.workdir else "in the directory that commands start in"
    project = f"the project {task.repo}" if task.repo else "a project"
    language = f" ({task.language})" if task.language else ""
    network = " There is no network." if offline else ""
    parts = [
        f"You work on {project}{language}. Its repository is {place}, at the commit before the change asked for below.",
        f"# Problem statement\n\n{task.statement.strip()}",
    ]
    if _tells(task.interface):
        parts.append(
            "# Interface\n\nThe tests use these names, so they must exist as told here:\n\n" + task.interface.strip()
        )
    parts.append(
        "# Instructions\n\n"
        "- Look around, reproduce the problem, change the code so that it does what the statement asks for.\n"
        "- Only changes of files in the repository count. Tests that you change or add, and files that steer a test "
        "runner, are left out of the grading, so do not rest on them.\n"
        f"- Commands run in a sandbox with the project's dependencies installed.{network}\n"
        "- Call `submit_answer` when you are done. Hidden tests then decide; a graded submission ends the episode."
    )
    return "\n\n".join(parts) + "\n"


def _tells(interface: str) -> bool:
    text = interface.strip()
    return bool(text) and not (len(text) < 200 and _NO_INTERFACE in text.lower())
