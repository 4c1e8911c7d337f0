"""What an agent is told of its submission, and of calls that come too late.  Counts only: never a test's name."""

from __future__ import annotations

from assay.api.v1alpha1 import SubmissionOutcome
from assay.domain.ors.episodes import EpisodeView, Graded
from assay.domain.ors.results import Output, Refused, Result, infrastructure

_TEXTS = {
    "NothingSubmitted": "No file of the repository was changed, so there was nothing to grade but the unchanged code.",
    "PatchDoesNotApply": "The submission could not be applied to a fresh copy of the repository.",
    "TestTimeout": "The tests did not end in their time, so nothing was graded.",
    "Infrastructure": "The grading was lost to a fault of the infrastructure, so nothing was graded.",
}


def submission_result(view: EpisodeView, number: int) -> Result | None:
    """Return the answer to the call that asked for submission ``number``; None while it is being graded."""
    if number <= len(view.submissions):
        graded = view.submissions[number - 1]
        if graded.outcome is SubmissionOutcome.GRADED:
            return _rewarded(graded)
        if graded.outcome is SubmissionOutcome.NOT_GRADED:
            return _not_graded(view, graded, number)
    return over_result(view, "submit_answer") if view.final else None


def over_result(view: EpisodeView, tool: str) -> Output:
    """Return the answer to a call of an episode that ended while the call waited."""
    if view.deleting:
        why = "The episode was deleted."
    elif view.message:
        why = f"The episode is over ({view.phase}): {view.message}."
    else:
        why = f"The episode is over ({view.phase})."
    return infrastructure(tool, why)


def finished_refusal() -> Refused:
    """Return the answer to every call after the end."""
    return Refused(text="the episode is finished: its submission has been graded", reason="episode_finished")


def spent_refusal(view: EpisodeView) -> Refused:
    """Return the answer to calls past the limit of tool calls."""
    text = f"all {view.most_calls} tool calls of this episode are used up; only submit_answer is left"
    return Refused(text=text, reason="input_validation")


def _rewarded(graded: Graded) -> Output:
    reward = 0.0 if graded.reward is None else graded.reward
    lines = [f"The submission was graded: reward {reward:g}."]
    if graded.reason in _TEXTS:
        lines.append(_TEXTS[graded.reason])
    else:
        lines.append(
            "Tests that had to be fixed: {} of {} pass. Tests that had to stay: {} of {} pass.".format(
                *graded.fail_to_pass, *graded.pass_to_pass
            )
        )
    if graded.ignored:
        lines.append(
            f"{graded.ignored} changed files were left out: tests, and files that steer their runner, do not count."
        )
    metadata = {"ok": True, "tool": "submit_answer", "exit_code": 0, "reason": graded.reason}
    return Output(text="\n".join([*lines, "Exit code: 0"]), metadata=metadata, reward=reward, finished=True)


def _not_graded(view: EpisodeView, graded: Graded, number: int) -> Output:
    left = max(0, view.most_submissions - number)
    more = (
        f"The work is as it was. Submissions left: {left}; call submit_answer again."
        if left
        else "No submission is left."
    )
    fault = "timeout" if "Timeout" in graded.reason else "infrastructure"
    metadata = {
        "ok": False,
        "tool": "submit_answer",
        "exit_code": 1,
        "invalid": True,
        "failure_class": fault,
        "reason": graded.reason,
        "submissions_left": left,
    }
    text = _TEXTS.get(graded.reason, f"The submission was not graded ({graded.reason}).")
    return Output(text=f"{text}\n{more}\nExit code: 1", metadata=metadata)
