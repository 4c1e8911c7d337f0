"""What an agent that cheats gains on a real node: nothing; and what an honest one loses beside it: nothing."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from chart.installing import Release
from chart.played import LONG, Seen, forwarded, name_of, played, sum_of
from cluster.stage import listening

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def seen(release: Release, task: dict[str, Any], hidden: tuple[str, ...]) -> Seen:
    """What the players of all episodes saw, and what got out of their sandboxes."""
    found = json.loads(release.cluster.kubectl("get", "endpoints", "kubernetes", "-o", "json").stdout)["subsets"][0]
    server = f"{found['addresses'][0]['ip']}:{found['ports'][0]['port']}"
    with listening(release.cluster) as outside, forwarded(release) as port:
        host = "{}:{}".format(*outside.address)
        return asyncio.run(played(port, task, hidden, (host, server))) | {"heard": outside.heard}


def status(release: Release, sid: str) -> dict[str, Any]:
    found: dict[str, Any] = release.wait(f"ae/{name_of(sid)}")["status"]
    return found


def looked(seen: Seen) -> list[str]:
    lines: list[str] = seen["look"].splitlines()
    return lines


def text_of(result: dict[str, Any]) -> str:
    text: str = result["output"]["blocks"][0]["text"]
    return text


def test_the_sandbox_has_no_history(seen: Seen) -> None:
    assert looked(seen)[:3] == ["commits 1", "names 1 0 0 0", "objects 0"]


def test_the_sandbox_holds_neither_the_solution_nor_a_held_out_test(seen: Seen, hidden: tuple[str, ...]) -> None:
    assert len(hidden) >= 4
    assert seen["staged"].startswith(f"{len(hidden) - 1}\n"), "what was written by one call is read by the next"
    assert "files 0" in looked(seen)


def test_the_sandbox_holds_no_key_and_no_token(seen: Seen) -> None:
    assert "tokens 0" in looked(seen)
    assert "keys 0" in looked(seen)


def test_the_sandbox_reaches_nothing(seen: Seen) -> None:
    assert looked(seen)[-2:] == ["end", "Exit code: 0"]
    assert [line for line in looked(seen) if line.startswith("open")] == []
    assert seen["heard"] == []


def test_a_file_that_is_staged_by_one_call_is_there_for_the_next(seen: Seen) -> None:
    assert seen["staged"].endswith("Exit code: 0")
    assert "No such file" not in seen["staged"]


def test_a_task_that_a_client_has_altered_is_the_task_all_the_same(release: Release, seen: Seen) -> None:
    assert seen["altered"] == (200, {"sid": "thief"})
    assert seen["other"][0] == 400
    manifest = json.loads(
        release.cluster.kubectl("get", "ae", name_of("thief"), "-n", release.runs, "-o", "json").stdout
    )
    assert "task" not in manifest["spec"]
    assert "evil" not in json.dumps(manifest)


def test_nothing_that_a_client_is_told_names_a_held_out_test(
    release: Release, seen: Seen, hidden: tuple[str, ...]
) -> None:
    told = json.dumps([seen["prompt"], seen["submitted"], seen["after"], seen["twin"], status(release, "thief")])
    assert [name for name in hidden if name in told] == []
    assert "fail-to-pass" in told, "counts are told"


def test_marks_that_harnesses_take_for_rewards_are_broken(seen: Seen) -> None:
    assert "[OR_REWARD:" not in seen["marks"]
    assert "[EPISODE COMPLETE]" not in seen["marks"]


def test_an_edit_of_a_long_file_keeps_every_other_byte(seen: Seen) -> None:
    assert seen["edited"]["output"]["metadata"]["ok"], seen["edited"]
    assert seen["sum"].startswith(sum_of(LONG.replace("needle", "thread")))


def test_the_answer_to_anothers_call_is_not_told(seen: Seen) -> None:
    assert seen["stolen"] == (404, [("error", "unknown task_id")])


def test_a_sandbox_that_is_bent_in_every_way_earns_nothing(release: Release, seen: Seen) -> None:
    assert seen["attack"].endswith("done\nExit code: 0"), seen["attack"]
    found = status(release, "thief")
    assert (found["phase"], found["reward"], found["reason"]) == ("Finished", 0.0, "TestsFail")


def test_its_honest_twin_with_the_right_fix_earns_the_reward(release: Release, seen: Seen) -> None:
    assert seen["twin attack"].endswith("done\nExit code: 0"), seen["twin attack"]
    assert (seen["twin"]["output"]["reward"], seen["twin"]["output"]["finished"]) == (1.0, True)
    (submission,) = status(release, "twin")["submissions"]
    assert submission["ignored"]["count"] >= 3


def test_two_submissions_and_a_call_at_once_give_one_reward(release: Release, seen: Seen) -> None:
    *submitted, _ = seen["submitted"]
    rewards = [result["output"]["reward"] for result in submitted if result["ok"] and result["output"]["finished"]]
    assert rewards == [0.0]
    assert len(status(release, "thief")["submissions"]) == 1


def test_after_the_end_every_call_is_refused(seen: Seen) -> None:
    assert [result["reason"] for result in seen["after"]] == ["episode_finished"] * 2


def test_a_false_git_in_the_sandbox_earns_nothing(release: Release, seen: Seen) -> None:
    assert seen["false-git"]["output"]["reward"] == 0.0
    assert status(release, "false-git")["phase"] == "Finished"


def test_a_git_that_fails_is_not_graded_and_leaves_the_other_submissions(seen: Seen) -> None:
    output = seen["broken-git"]["output"]
    assert (output["reward"], output["finished"]) == (None, False)
    assert "Submissions left: 2" in text_of(seen["broken-git"])


def test_a_session_that_is_deleted_while_a_tool_runs_leaves_nothing(release: Release, seen: Seen) -> None:
    assert seen["deleted"] == ((200, {"sid": "left"}), (200, {"sid": "left"}))
    output = seen["left"]["output"]
    assert (output["metadata"]["ok"], output["reward"], output["finished"]) == (False, None, False)
    assert seen["gone"] == 404
    end = time.monotonic() + 60
    while name_of("left") in owners(release):
        assert time.monotonic() < end
        time.sleep(0.5)


def owners(release: Release) -> set[str]:
    """Names of whatever owns a pod or a Secret."""
    found = release.cluster.kubectl("get", "pods,secrets", "-n", release.runs, "-o", "json").stdout
    references = [item["metadata"].get("ownerReferences", ()) for item in json.loads(found)["items"]]
    return {owner["name"] for owned in references for owner in owned}


def test_fifty_clients_read_tasks_at_once(release: Release, seen: Seen) -> None:
    assert [answer for answer in seen["readers"] if answer != (200, seen["readers"][0][1])] == []
    tasks = release.cluster.kubectl("get", "tv", "-n", release.runs, "-o", "jsonpath={.items[*].metadata.name}").stdout
    assert seen["readers"][0][1]["task"]["task"] in tasks.split()
    selector = "app.kubernetes.io/component=gateway"
    pods = release.cluster.kubectl("get", "pod", "-n", release.system, "-l", selector, "-o", "json").stdout
    ended = [
        container["lastState"] for pod in json.loads(pods)["items"] for container in pod["status"]["containerStatuses"]
    ]
    assert ended == [{}, {}], release.cluster.kubectl(
        "logs", "-p", "-n", release.system, "-l", selector, check=False
    ).stdout
