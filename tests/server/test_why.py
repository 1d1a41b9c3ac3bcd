"""*Why does it fail?* in an editor: the command, its consent, its offers, and the tool of agents."""

from itertools import pairwise

import pytest

CODE = """\
def is_many(count):
    if count > 10:
        return True
    return False
"""
TESTS = """\
from many import is_many


def test_ten_are_many():
    assert is_many(10)


def test_eleven_are_many():
    assert is_many(11)


def test_nine_are_few():
    assert not is_many(9)
"""
FILES = {"many.py": CODE, "test_many.py": TESTS}
FAILING = "test_many.py::test_ten_are_many"


@pytest.mark.slow
def test_one_answer_comes_after_consent_with_the_line_that_it_is_about(client, project):
    client.start(project)
    assert client.command("why") is None, "nobody has agreed"
    client.agree()
    answer = client.command("why", project.as_uri(), [FAILING], None, {"show": True})
    assert len([said for said in client.messages if "is_many is wrong." in said["message"]]) == 1
    assert answer["headline"] == "many.py:2 in is_many is wrong."
    assert answer["sentences"][:3] == [
        "The failing test passes with this change, and both others that were run still do:",
        "    − if count > 10:",
        "    + if count >= 10:",
    ]
    (edits,) = answer["fix"]["changes"].values()
    assert [edit["newText"] for edit in edits] == ["count >= 10"]
    assert any(sentence.startswith("This is nearly certain") for sentence in answer["sentences"])
    assert answer["location"]["uri"] == (project / "many.py").as_uri()
    assert answer["location"]["range"]["start"]["line"] == 1
    assert answer["markdown"].startswith("**many.py:2 in `is_many` is wrong.**")
    client.ask_until(lambda: client.suspects(limit=1)["suspects"][0]["repairs"] == 1)
    (suspect,) = client.suspects(limit=1)["suspects"]
    assert (suspect["line"], suspect["findings"][0]) == (2, "`>` → `>=` repairs 1 test and breaks none.")
    document = {"textDocument": {"uri": client.open(project / "many.py")}}
    hover = client.request("textDocument/hover", {**document, "position": {"line": 1, "character": 6}})
    assert "repairs 1 test and breaks none" in hover["contents"]["value"]
    for tool, given in (("why", {"seconds": 5}), ("rank", {}), ("explain", {"place": "many.py:2"})):
        found = client.request("suspectra/agentAnswer", {"tool": tool, "arguments": given})["text"]
        assert "many.py:2" in found
        assert ("+ if count >= 10:" if tool == "why" else "repairs 1 test") in found


@pytest.mark.slow
def test_pytest_runs_what_unittest_runs_again(client, project):
    client.start(project, options={"testCommand": ["python", "-m", "unittest"]})
    client.agree()
    answer = client.command("why", project.as_uri(), [FAILING])
    assert answer["headline"] == "many.py:2 in is_many is wrong."


def test_it_is_offered_above_the_failing_test_and_at_the_first_suspect(client, project):
    client.start(project)
    for name, line, title in (("test_many.py", 3, "Why does it fail?"), ("many.py", 0, "Why?")):
        lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": client.open(project / name)}})
        commands = [lens["command"] for lens in lenses if lens["range"]["start"]["line"] == line]
        assert [title] == [found["title"] for found in commands if found["command"] == "suspectra.server.why"]


@pytest.mark.slow
def test_what_is_known_by_the_ranking_is_sent_before_anything_was_tried(client, project):
    client.start(project)
    client.agree()
    answer = client.command("why")
    sent = [one["params"] for one in client.received if one.get("method") == "suspectra/answerSoFar"]
    first, last = sent[0], sent[-1]
    assert first["command"] == "suspectra.server.why"
    assert first["answer"]["headline"] == "Look at many.py:4 in is_many first: it is the most suspicious line."
    assert first["answer"]["sentences"][0] == "    return False"
    assert first["answer"]["sentences"][-1].startswith("test_ten_are_many failed at test_many.py:5: AssertionError")
    assert first["answer"]["location"]["range"]["start"]["line"] == 3
    assert first["doing"] == "Looking for the change that broke it"
    assert "Trying what makes them pass" in [one["doing"] for one in sent]
    assert last["answer"]["headline"] == answer["headline"]
    assert all(one["answer"]["fix"] is None for one in sent), "an edit would change what runs"
    assert all(before != after for before, after in pairwise(sent))

    client.command("why", None, None, None, {"soFar": False})
    assert [one["params"] for one in client.received if one.get("method") == "suspectra/answerSoFar"] == sent
