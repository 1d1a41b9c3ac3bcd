"""What a client is shown: marks, lenses, hovers, hints, symbols, actions."""

import json
import re
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import pytest
from pygls.uris import to_fs_path

from suspectra.base.technique_info import Need
from suspectra.evidence.discovery import find_source
from suspectra.evidence.logs.failure_slices import add_slices
from suspectra.evidence.logs.path_reports import add_report
from suspectra.evidence.logs.per_test_log import Logged
from suspectra.experiments.log import ExperimentLog
from suspectra.localizer import Localizer
from suspectra.runs.experiment import EVERY, Experiment, ExperimentOutcome
from suspectra.runs.reported_lines import FailureSlice
from suspectra.techniques import make_technique, technique_infos, technique_names
from suspectra_recorder.instrumentation.rewriting import instrument
from suspectra_recorder.log.frames import MAGIC, FrameKind, frame, frames, pack_rows, split_json, with_json

ERROR, WARNING, INFORMATION, HINT = 1, 2, 3, 4


def severity(rank_best):
    # the shop's ties are such that the best rank decides
    return WARNING if rank_best < 5 else INFORMATION if rank_best < 10 else HINT


def test_marks_stand_where_the_markers_say(client, shop, markers):
    client.start(shop, options={"technique": "ochiai"})
    assert client.marks(shop) == {place: severity(rank) for place, rank in markers(shop).items()}


def test_a_diagnostic_says_what_why_and_where_to_read_on(client, shop, find_line):
    client.start(shop)
    line = find_line(shop / "shop/vouchers.py", "off = off - amount")
    uri = (shop / "shop/vouchers.py").as_uri()
    found = next(d for d in client.diagnostics[uri] if d["range"]["start"]["line"] == line)
    assert (found["source"], found["code"], found["severity"]) == ("suspectra", "evidence", WARNING)
    assert found["message"] == "Most suspicious: 3 of 3 failing tests, 0 of 7 passing"
    assert "relatedInformation" not in found
    where = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 9}}
    failing, *_ = below = client.request("textDocument/hover", where)["contents"]["value"].split("\n\n")
    assert re.match(r"✗ \[`test_never_below_zero`\]\(\S+\) and 2 more: expected 0, actual ", failing)
    where["position"]["character"] = 0  # where the diagnostic is not shown above the hover
    reason, *more = client.request("textDocument/hover", where)["contents"]["value"].split("\n\n")
    assert reason == "All 3 failing tests run it, no passing one does."
    assert more == [below[0], "Most suspicious.", *below[1:]]
    assert found["range"]["start"]["character"] == 8
    counts = {
        name: found["data"][name] for name in ("ef", "ep", "nf", "np", "score", "rankBest", "rankWorst", "suspicion")
    }
    assert counts == {
        "ef": 3,
        "ep": 0,
        "nf": 0,
        "np": 7,
        "score": 1,
        "rankBest": 1,
        "rankWorst": 1,
        "suspicion": "high",
    }
    assert "tags" not in found
    page = Path(to_fs_path(found["codeDescription"]["href"]))
    assert page.read_text().splitlines()[2] == "# All evidence"


def passed_before(root, name, old, new):
    """Adds to the recording a run in which all tests passed, with another text of one file."""
    (log,) = (root / ".suspectra" / "recording").glob("*.log")
    parts, second = [MAGIC], 10**9
    for kind, payload, _ in frames(log.read_bytes()):
        if kind == FrameKind.RUN:
            head = json.loads(payload)
            payload = json.dumps({**head, "run": "before", "started": head["started"] - second}).encode()
        elif kind == FrameKind.FILE and split_json(payload)[0]["path"] == name:
            text = (root / name).read_text()
            assert text.count(old) == 1
            module = instrument(text.replace(old, new).encode(), name, "__cells__")[1]
            head = {**split_json(payload)[0], "digest": "0" * 64, "cells": module.cells}
            payload = with_json(head, module.to_bytes())
        elif kind == FrameKind.TEST:
            head = split_json(payload)[0]
            payload = with_json({**head, "verdict": "passed", "time": head["time"] - second}, pack_rows([], b""))
        if kind in (FrameKind.RUN, FrameKind.FILE, FrameKind.TEST):
            parts.append(frame(FrameKind(kind), payload))
    log.with_name("0-before.log").write_bytes(b"".join(parts))


def test_what_changed_since_tests_passed_says_so(client, shop, find_line):
    passed_before(shop, "shop/vouchers.py", "off = off - amount", "off = amount")
    client.start(shop)
    line = find_line(shop / "shop/vouchers.py", "off = off - amount")
    uri = (shop / "shop/vouchers.py").as_uri()
    badge = "you changed this"
    found = next(d for d in client.diagnostics[uri] if d["range"]["start"]["line"] == line)
    assert badge in found["message"]
    assert [d["message"] for d in client.diagnostics[uri] if "you changed" in d["message"]] == [found["message"]]
    assert found["data"]["changed"] == 3
    where = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 9}}
    assert badge not in client.request("textDocument/hover", where)["contents"]["value"].lower()  # it is right above
    where["position"]["character"] = 0
    assert badge.capitalize() in client.request("textDocument/hover", where)["contents"]["value"]
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    assert any(badge in lens["command"]["title"] for lens in lenses)


def test_the_list_is_what_the_library_ranks(client, shop):
    client.start(shop)
    localizer = Localizer(make_technique("evidence"))
    report = localizer.update(find_source(shop, edges=True).read())
    parts = [(one.rank_best, one.elements[own]) for own in (slice(3), slice(3, None)) for one in report.functions()]
    listed = [(rank, element) for rank, elements in parts for element in elements]
    answer = client.suspects(limit=100)
    grouped = answer["groups"][0]["tests"]  # the order is the same everywhere, as "the first and 2 more" names one
    assert grouped != sorted(grouped)
    wanted = [
        {
            "file": s.location.file,
            "line": s.location.line,
            "endLine": s.location.end_line,
            "function": s.function,
            "score": s.score,
            "reason": report.technique.reason(report, s.element),
            "rankBest": s.rank_best,
            "rankAverage": s.rank_average,
            "rankWorst": s.rank_worst,
            "ef": s.ef,
            "ep": s.ep,
            "nf": s.nf,
            "np": s.np,
            "failingTests": sorted(s.failing_tests, key=grouped.index),
            "functionRank": rank,
        }
        for rank, element in listed
        for s in [report.suspect_of(element)]
    ]
    assert [{name: s[name] for name in wanted[0]} for s in answer["suspects"]] == wanted
    assert {name: answer[name] for name in ("technique", "cloneFailed", "passed", "failed", "elements", "state")} == {
        "technique": "evidence",
        "cloneFailed": False,
        "passed": 7,
        "failed": 3,
        "elements": 24,
        "state": "ready",
    }
    assert answer["suspects"][0]["uri"] == (shop / "shop/vouchers.py").as_uri()
    assert [s["suspicion"] for s in answer["suspects"]] == ["high"] * 5 + ["medium"] * 5 + ["low"]
    assert len(client.suspects(limit=2)["suspects"]) == 2
    assert "failing tests execute only 2 statements of its function" in str(answer["suspects"])
    assert answer["without"] == []


def test_a_hover_explains_in_words_and_numbers(client, shop, find_line):
    client.start(shop)
    uri = client.open(shop / "shop/vouchers.py")

    def hover(text):
        position = {"line": find_line(shop / "shop/vouchers.py", text), "character": 0}
        return client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": position})

    shown = hover("off = off - amount")
    assert shown["contents"]["kind"] == "markdown"
    why, test, rank = shown["contents"]["value"].split("\n\n")
    assert why == "All 3 failing tests run it, no passing one does."
    line = find_line(shop / "tests/test_shop.py", 'total("20") == 0') + 1
    link = f"[`test_never_below_zero`]({(shop / 'tests/test_shop.py').as_uri()}#L{line})"
    assert test == f"✗ {link} and 2 more: expected 0, actual -4"
    assert rank == "Most suspicious."
    text = client.command("explain", uri, find_line(shop / "shop/vouchers.py", "off = off - amount"))["markdown"]
    assert "`K = 0.55 * 1 + 0.45 * 3 / (3 + 0) = 1, S = 1`" in text
    # names of tests may contain anything, and must not become markup
    assert "``tests/test_shop.py::test_never_below_zero_for[one *bold* `code`]``" in text
    assert "`tests/test_shop.py::test_never_below_zero_for[<b>two</b>]`" in text
    assert "failing tests execute only 2 statements of its function" in hover("return by_amount")["contents"]["value"]
    assert hover("off = amount * percent") is None
    assert hover("def by_amount") is None


def test_a_hover_names_the_best_step_where_lines_are_tied(client, shop, find_line):
    client.start(shop)
    path = shop / "shop/vouchers.py"
    uri = client.open(path)

    def rank(text):
        asked = {"textDocument": {"uri": uri}, "position": {"line": find_line(path, text), "character": 0}}
        return client.request("textDocument/hover", asked)["contents"]["value"].split("\n\n")[2]

    step = "If possible, add a test that calls `by_amount` directly: it has 1 of these 2 statements."
    assert client.ask_until(lambda: rank("return by_amount").endswith(step))
    assert "If possible" not in rank("off = off - amount"), "it has its score alone"


def test_a_client_that_follows_commands_gets_them_as_the_last_line_of_a_hover(client, shop, capable, find_line):
    capable["experimental"] = {"suspectra": {"status": True, "commandLinks": True}}
    client.initialize(shop, capabilities=capable)
    client.wait_for_state("ready")
    path = shop / "shop/vouchers.py"
    where = {"line": find_line(path, "off = off - amount"), "character": 9}
    asked = {"textDocument": {"uri": path.as_uri()}, "position": where}
    links = client.request("textDocument/hover", asked)["contents"]["value"].split("\n\n")[-1].split(" · ")
    titles = [link.partition("]")[0].strip("[`") for link in links]
    assert titles == ["Explain", "Find out what would make it pass"]
    name, _, arguments = links[0].partition("(command:")[2].rstrip(")").partition("?")
    assert name == "suspectra.server.explain"
    assert json.loads(unquote(arguments)) == [path.as_uri(), where["line"]]


def test_by_default_only_the_first_suspects_have_a_diagnostic_and_where_tests_failed(client, shop, find_line):
    client.start(shop, options={"technique": "binary", "diagnostics": "first"})
    first = [suspect for suspect in client.suspects()["suspects"] if suspect["functionRank"] == 1]
    functions = {(suspect["uri"], suspect["function"]): suspect for suspect in reversed(first)}
    marked = {
        (uri, one["range"]["start"]["line"] + 1, one["severity"])
        for uri, diagnostics in client.diagnostics.items()
        for one in diagnostics
        if one["code"] != "failing-test"
    }
    assert len(functions) < len(first), "one line stands for a function"
    assert marked == {(one["uri"], one["line"], INFORMATION) for one in functions.values()}

    tests = shop / "tests/test_shop.py"
    failed = client.diagnostics[tests.as_uri()]
    assert [one["severity"] for one in failed] == [ERROR] * len(failed)
    line = find_line(tests, 'total("20") == 0')
    (one,) = (one for one in failed if one["range"]["start"]["line"] == line)
    assert one["message"] == "test_never_below_zero: expected 0, actual -4"
    assert one["relatedInformation"][0]["location"]["uri"] == first[0]["uri"]

    # it stands where its line does, and goes with it
    uri = client.open(tests)
    client.edit(uri, (0, 0), (0, 0), "# one line more\n")
    client.wait(lambda: line + 1 in [one["range"]["start"]["line"] for one in client.diagnostics[uri]])
    client.edit(uri, (line + 1, 4), (line + 1, 4), "x = ", version=3)
    client.wait(lambda: line + 1 not in [one["range"]["start"]["line"] for one in client.diagnostics[uri]])


def test_a_client_without_markdown_gets_plain_text(client, shop, capable, find_line):
    del capable["textDocument"]["hover"]
    client.initialize(shop, capabilities=capable)
    client.wait(lambda: client.diagnostics)
    path = shop / "shop/vouchers.py"
    position = {"line": find_line(path, "off = off - amount"), "character": 0}
    contents = client.request("textDocument/hover", {"textDocument": {"uri": path.as_uri()}, "position": position})[
        "contents"
    ]
    assert contents["kind"] == "plaintext"
    assert "**" not in contents["value"]
    assert "Most suspicious" in contents["value"]


def test_lenses_stand_above_the_functions_that_hold_the_first_suspects(client, shop, find_line):
    client.start(shop, options={"technique": "ochiai"})
    path = shop / "shop/vouchers.py"
    uri = client.open(path)
    lenses = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
    titles = [(lens["range"]["start"]["line"], lens["command"]["title"]) for lens in lenses]
    above = find_line(path, "def by_amount")
    assert titles == [(above, title) for title in ("Most suspicious (3 of 3 failing)", "Why?", "Next")]
    explain = lenses[0]["command"]
    assert explain["command"] == "suspectra.server.explain"
    assert "Suspect 1 of 24" in client.command("explain", *explain["arguments"])["markdown"]
    assert any(request["method"] == "workspace/codeLens/refresh" for request in client.asked)


def test_inlay_hints_are_there_when_asked_for(client, shop, find_line):
    client.start(shop, options={"technique": "ochiai"})
    path = shop / "shop/vouchers.py"
    where = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}

    def hints():
        return client.request("textDocument/inlayHint", {"textDocument": {"uri": path.as_uri()}, "range": where})

    assert hints() == []
    client.configuration = {"technique": "ochiai", "inlayHints": True}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait(lambda: any(request["method"] == "workspace/inlayHint/refresh" for request in client.asked))
    labels = {hint["position"]["line"]: hint["label"] for hint in hints()}
    first = find_line(path, "off = off - amount")
    assert labels[first].startswith("suspect 1 · 1")
    assert labels[find_line(path, "if off > amount")].startswith("suspect 2–4 · 0.866")
    # the first suspect of a function says where readers go next, once that is known
    client.ask_until(lambda: any(hint["label"].startswith("suspect 1 · 1 · then line ") for hint in hints()))


def test_workspace_symbols_list_the_suspects(client, shop):
    client.start(shop)
    everything = client.request("workspace/symbol", {"query": ""})
    assert everything[0]["name"] == "suspect 1: shop/vouchers.py:17 (1)"
    assert everything[0]["containerName"] == "by_amount"
    assert len(everything) == 11
    assert {s["containerName"] for s in client.request("workspace/symbol", {"query": "basket.ADD"})} == {"Basket.add"}
    assert client.request("workspace/symbol", {"query": "no such thing"}) == []


def test_code_actions_offer_what_a_reader_may_want(client, shop, find_line):
    client.start(shop)
    path = shop / "shop/vouchers.py"
    uri, line = client.open(path), find_line(path, "off = off - amount")

    def actions(line, **context):
        where = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}
        params = {"textDocument": {"uri": uri}, "range": where, "context": {"diagnostics": [], **context}}
        return client.request("textDocument/codeAction", params)

    offered = actions(line, diagnostics=client.diagnostics[uri][:1])
    names = ["why", "explain", "debugHere", "testSuspect", "markExamined", "markInnocent"]
    assert [action["command"]["command"].removeprefix("suspectra.server.") for action in offered] == names
    assert offered[0]["diagnostics"][0]["source"] == "suspectra"
    assert actions(line, only=["refactor"]) == []
    assert actions(0) == []
    tied = [action["title"] for action in actions(find_line(path, "return by_amount"))]
    assert tied[:3] == ["Why does it fail?", "Explain suspect", "What would tell these apart?"]
    unsuspected = find_line(path, "off = amount * percent")
    assert [action["title"] for action in actions(unsuspected)] == ["Why not this line?"]
    assert actions(unsuspected, triggerKind=2) == [], "no light on lines that nobody asked about"


def test_a_client_without_commands_of_its_own_gets_all_as_code_actions(client, shop, capable, find_line):
    del capable["experimental"]
    client.initialize(shop, capabilities=capable)
    path = shop / "shop/vouchers.py"
    uri, line = client.open(path), find_line(path, "off = off - amount")
    client.wait(lambda: client.diagnostics.get(uri))
    where = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}
    params = {"textDocument": {"uri": uri}, "range": where, "context": {"diagnostics": []}}
    offered = {one["title"]: one["command"] for one in client.request("textDocument/codeAction", params)}
    assert list(offered)[6:] == [
        "Why not this line?",
        "Look around from this suspect…",
        "Go to the next suspect",
        "What led here",
        "What this influenced",
        "Rank suspects with another technique…",
    ]
    step = client.request("workspace/executeCommand", offered["Go to the next suspect"])
    assert step["range"]["start"]["line"] == find_line(path, "if off > amount")


def test_a_client_without_action_literals_gets_commands(client, shop, find_line):
    client.start(shop, capabilities={})
    path = shop / "shop/vouchers.py"
    line = find_line(path, "off = off - amount")
    where = {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 0}}
    params = {"textDocument": {"uri": path.as_uri()}, "range": where, "context": {"diagnostics": []}}
    offered = client.request("textDocument/codeAction", params)
    assert offered[0]["command"] == "suspectra.server.why"
    assert "relatedInformation" not in client.diagnostics[path.as_uri()][0]


@pytest.mark.slow
def test_all_techniques_are_listed_and_each_can_rank(client, shop):
    client.start(shop)
    listed = client.request("suspectra/techniques")
    assert [technique["name"] for technique in listed] == list(technique_names())
    assert all(technique[name] for technique in listed for name in ("title", "paper", "description"))
    for info in technique_infos():
        if Need.COUNTS in info.needs:
            continue
        assert client.command("selectTechnique", info.name) == info.name
        client.wait(lambda name=info.name: client.statuses[-1]["technique"] == name)
        answer = client.suspects(limit=100)
        assert (answer["technique"], answer["state"]) == (info.name, "ready")
        for suspect in answer["suspects"][:3]:
            assert client.command("explain", suspect["uri"], suspect["range"]["start"]["line"])["markdown"]


def test_experiments_that_are_made_meanwhile_change_the_ranking(client, shop):
    client.start(shop, options={"technique": "switching"})
    assert "suspectra investigate" in client.suspects()["problems"][-1]["cure"]
    *_, last = [suspect for suspect in client.suspects(limit=100)["suspects"] if suspect["ef"]]
    path, line = Path(to_fs_path(last["uri"])), last["range"]["start"]["line"] + 1
    name = path.relative_to(shop).as_posix()
    place = (name, line, line, 0, "if", EVERY, "true", ExperimentOutcome.PASSED, 0.01)
    with ExperimentLog(shop) as log:
        digests = {name: sha256(path.read_bytes()).hexdigest()}
        for test in last["failingTests"]:
            log.add(Experiment(test, "switch", *place), digests)
    client.ask_until(lambda: client.suspects(limit=1)["suspects"][0]["range"] == last["range"])
    said = client.command("explain", path.as_uri(), line - 1)["markdown"]
    assert "pass if this comes out true" in said or "passes if this comes out true" in said


def test_slices_in_the_log_are_ranked_by_their_technique(client, shop):
    client.start(shop)
    *_, last = [suspect for suspect in client.suspects(limit=100)["suspects"] if suspect["ef"]]
    path, line = Path(to_fs_path(last["uri"])), last["range"]["start"]["line"] + 1
    name = path.relative_to(shop).as_posix()
    digests = {name: sha256(path.read_bytes()).hexdigest()}
    made = {test: FailureSlice(test, {(name, line): 1}) for test in last["failingTests"]}
    add_slices(shop, [Logged(test, found, digests) for test, found in made.items()])
    client.command("selectTechnique", "slice")
    client.ask_until(lambda: client.suspects(limit=1)["suspects"][0]["range"] == last["range"])
    assert "depend on it; 1 dependence lies between" in client.command("explain", path.as_uri(), line - 1)["markdown"]


def test_reported_paths_in_the_log_are_ranked_by_their_technique(client, shop):
    client.start(shop)
    *_, last = [suspect for suspect in client.suspects(limit=100)["suspects"] if suspect["ef"]]
    path, line = Path(to_fs_path(last["uri"])), last["range"]["start"]["line"] + 1
    name = path.relative_to(shop).as_posix()
    client.command("selectTechnique", "nearest-path")
    digests = {name: sha256(path.read_bytes()).hexdigest()}
    for test in last["failingTests"]:
        add_report(shop, test, "nearest-path", [(name, line)], digests)
    client.ask_until(lambda: client.suspects(limit=1)["suspects"][0]["range"] == last["range"])
    assert "it, at place 1." in client.command("explain", path.as_uri(), line - 1)["markdown"]


def test_a_technique_that_wants_more_than_the_evidence_holds_leaves_the_ranking(client, shop):
    client.start(shop)
    seen = len(client.statuses)
    client.command("selectTechnique", next(info.name for info in technique_infos() if Need.COUNTS in info.needs))
    client.wait_for_state("error", after=seen)
    answer = client.suspects()
    assert answer["technique"] == "evidence"
    assert answer["suspects"]
    assert answer["problems"][0]["cure"]


def test_infinite_scores_are_json(client, shop):
    client.start(shop, options={"technique": "kulczynski1"})
    best = client.suspects(limit=1)["suspects"][0]
    assert best["score"] == pytest.approx(1.7976931348623157e308)
    assert "∞" in client.request("workspace/symbol", {"query": ""})[0]["name"]


def test_suspects_that_top_cuts_off_are_mentioned_beside_those_of_the_same_score(client, shop):
    client.start(shop, options={"technique": "ochiai"})
    everything = client.suspects()["suspects"]
    last = next(i for i, (one, other) in enumerate(pairwise(everything)) if one["rankBest"] == other["rankBest"])
    more = sum(suspect["rankBest"] == everything[last]["rankBest"] for suspect in everything[last + 1 :])
    client.configuration = {"technique": "ochiai", "top": last + 1}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.wait(lambda: client.statuses[-1]["suspects"] == last + 1)
    words = f"and {more} more of the same rank, not marked"
    found = [(uri, d) for uri, diagnostics in client.diagnostics.items() for d in diagnostics if "data" in d]
    reported = {(uri, d["data"]["rankBest"]): d["message"] for uri, d in found}
    for (_, rank), message in reported.items():
        assert (words in message) == (rank == everything[last]["rankBest"])
    assert any(words in message for message in reported.values())
