"""Moving through code by the debugging model: jumps, steps, the way back, marks, and what is learned from moves."""

import asyncio
import json
from types import SimpleNamespace

import pytest

from suspectra.output.pictures.chain import chance
from suspectra_server.features.commands.walking import WalkCommands
from suspectra_server.session.navigation import learned_moves as learned_module
from suspectra_server.state.trail import Stop, Trail

INVALID_PARAMS = -32602


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A state folder of this test's own, so that nobody's habits are touched."""
    folder = tmp_path / "state"
    monkeypatch.setattr(learned_module.platformdirs, "user_state_path", lambda *names, **how: folder)
    return folder / "learned-jumps.json"


@pytest.fixture
def vouchers(shop):
    return shop / "shop/vouchers.py"


def cursor(path, line, character=0):
    return {"uri": path.as_uri(), "position": {"line": line, "character": character}}


def line_in(location):
    return location["range"]["start"]["line"]


def guided(client):
    """Wait until expected steps are known."""
    client.ask_until(lambda: client.suspects()["suspects"][0]["steps"] is not None)


# jumping


def test_a_jump_names_places_with_probabilities_and_reasons(client, shop, vouchers, find_line):
    client.start(shop)
    line = find_line(vouchers, "off = off - amount")
    found = client.command("jump", cursor(vouchers, line))
    assert (found["origin"]["file"], found["origin"]["line"]) == ("shop/vouchers.py", line + 1)
    assert found["origin"]["source"].startswith("off = off - amount")
    assert found["chosen"] is None
    chances = [move["probability"] for move in found["moves"]]
    assert chances == sorted(chances, reverse=True)
    assert 0.9 < sum(chances) <= 1 + 1e-9
    reasons = {move["line"] - 1: move["reasons"] for move in found["moves"] if move["file"] == "shop/vouchers.py"}
    assert "runs just before" in reasons[line - 1] or "runs just after" in reasons[line + 1]
    assert any("same function" in why for why in reasons.values())
    assert not [request for request in client.asked if request["method"] == "window/showDocument"]
    assert len(client.command("jump", cursor(vouchers, line), {"limit": 2})["moves"]) == 2
    plan = found["plan"]
    assert "until the fault is seen" in plan["saved"]
    assert "same function" in plan["places"][0]["reasons"]
    assert line + 1 not in [place["line"] for place in plan["places"] if place["file"] == "shop/vouchers.py"]


def test_a_chosen_place_is_shown_and_back_retraces(client, shop, vouchers, find_line):
    client.start(shop)
    line = find_line(vouchers, "off = off - amount")
    first = client.command("jump", cursor(vouchers, line))["moves"][0]
    to = {"uri": first["uri"], "line": first["line"] - 1}
    chosen = client.command("jump", cursor(vouchers, line), {"to": to})["chosen"]
    assert (chosen["uri"], line_in(chosen)) == (to["uri"], to["line"])
    shown = [request["params"] for request in client.asked if request["method"] == "window/showDocument"]
    # the cursor goes there, and nothing is selected that a key would replace
    assert shown[-1]["selection"] == {"start": chosen["range"]["start"], "end": chosen["range"]["start"]}
    assert chosen["range"]["start"]["character"] == 4
    # without a cursor: from where the reader went
    assert client.command("jump")["origin"]["line"] == first["line"]
    assert line_in(client.command("back")) == line
    assert client.command("back") is None
    steps = [client.command("nextSuspect") for _ in range(3)]
    assert [client.command("back"), client.command("back")] == steps[1::-1]


def test_a_client_without_a_list_is_asked_where_to_go(client, shop, vouchers, find_line, capable):
    del capable["experimental"]
    client.start(shop, capabilities=capable)
    line = find_line(vouchers, "off = off - amount")
    client.answers["window/showMessageRequest"] = lambda params: params["actions"][1]
    found = client.command("jump", cursor(vouchers, line))
    question = next(r["params"] for r in client.asked if r["method"] == "window/showMessageRequest")
    asked, _, rest = question["message"].partition("? ")
    assert asked == f"Where to look next from shop/vouchers.py:{line + 1}"
    assert rest.startswith("To find the fault soon: shop/vouchers.py:")
    move = found["moves"][1]
    assert question["actions"][1]["title"].startswith(f"{move['file']}:{move['line']} · ")
    assert move["reasons"][0] in question["actions"][1]["title"]
    assert line_in(found["chosen"]) == move["line"] - 1
    client.answers["window/showMessageRequest"] = None
    assert client.command("jump", cursor(vouchers, line))["chosen"] is None
    assert client.command("jump", cursor(vouchers, line), {"ask": False})["chosen"] is None
    assert sum(r["method"] == "window/showMessageRequest" for r in client.asked) == 2


def test_a_jump_is_answered_by_the_ranking_that_is_present_then():
    """The first ranking is that of all tests; those of the failure groups replace it."""
    present = ["all tests", "group"]

    async def ask(ranking, question):
        if len(present) > 1:
            present.pop(0)  # while the answer is computed
        return f"ways of {ranking}"

    def statement(ranking):
        folder = SimpleNamespace(navigation=SimpleNamespace(ask=ask))
        return SimpleNamespace(folder=folder, ranking=ranking, now=lambda: statement(present[0]))

    asked, ways = asyncio.run(WalkCommands(None, None)._ways_from(statement("all tests"), 5))
    assert (asked.ranking, ways) == ("group", "ways of group")


def test_off_any_statement_a_jump_starts_from_the_first_suspect(client, shop, vouchers, find_line):
    client.start(shop)
    line = find_line(vouchers, "off = off - amount")
    assert client.command("jump", cursor(vouchers, 1))["origin"]["line"] == line + 1
    assert client.command("jump", cursor(shop / "elsewhere.py", 1))["origin"]["line"] == line + 1
    assert client.command("jump")["origin"]["line"] == line + 1
    assert client.command("back") is None


def test_lines_that_were_edited_are_no_places_to_go_to(client, shop, vouchers, find_line):
    client.start(shop)
    uri, line = client.open(vouchers), find_line(vouchers, "off = off - amount")

    def near():
        moves = client.command("jump", cursor(vouchers, line))["moves"]
        return [move["source"].partition("#")[0].strip() for move in moves if move["uri"] == uri][:2]

    assert near() == ["if off > amount:", "return amount - off"]
    client.edit(uri, (line + 1, 0), (line + 1, 0), "    0\n")
    client.edit(uri, (line - 1, 4), (line - 1, 4), "if True or off:  ", version=3)
    assert near()[0] == "return amount - off"


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("jump", ["here"]),
        ("jump", [None, "there"]),
        ("jump", [None, {"to": 3}]),
        ("jump", [None, {"to": {"uri": "file:///x.py"}}]),
        ("jump", [None, {"to": {"uri": "file:///x.py", "line": 1}}]),
        ("jump", [None, {"ask": "yes"}]),
        ("jump", [None, {"limit": 0}]),
        ("jump", [None, {"limit": True}]),
        ("back", [1]),
        ("markInnocent", []),
        ("markInnocent", ["file:///x.py", 1, "file"]),
        ("markExamined", ["file:///x.py", 1, "file"]),
    ],
)
def test_bad_arguments_of_moves_are_refused(client, shop, command, arguments):
    client.start(shop)
    with pytest.raises(client.Error) as caught:
        client.command(command, *arguments)
    assert caught.value.code == INVALID_PARAMS


def test_without_a_ranking_there_is_nowhere_to_go(client, tmp_path):
    client.start(tmp_path)
    assert client.command("jump") is None
    assert client.command("back") is None
    assert client.command("nextSuspect") is None
    assert client.command("markInnocent", (tmp_path / "x.py").as_uri(), 0) is False


# steps


def test_expected_steps_order_places_and_are_not_a_second_score(client, shop, vouchers, find_line):
    client.configuration = {"inlayHints": True}
    client.start(shop)
    guided(client)
    uri, line = client.open(vouchers), find_line(vouchers, "off = off - amount")
    where = {"textDocument": {"uri": uri}, "position": {"line": line, "character": 8}}

    def hover():
        shown = client.request("textDocument/hover", where)["contents"]["value"]
        return shown.rpartition("\n\n")[0]  # without the links

    first = client.suspects()["suspects"][0]
    assert (first["file"], first["line"]) == ("shop/vouchers.py", line + 1)
    explained = client.command("explain", uri, line)["markdown"]
    reported = client.request("suspectra/explanation", {"uri": uri, "line": line})["sentences"]
    assert not any("steps" in text for text in (hover(), explained, *reported))
    # the end of a line and the list name the same next place with the same probability
    everywhere = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
    hints = client.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": everywhere})
    label = next(hint["label"] for hint in hints if hint["position"]["line"] == line)
    move = client.command("jump", cursor(vouchers, line))["moves"][0]
    said = f"then line {move['line']} · {chance(move['probability'])} · {move['reasons'][0]}"
    assert label.endswith(said)
    assert not any("steps" in hint["label"] for hint in hints)


def test_by_steps_the_list_and_the_walk_follow_the_model(client, shop, vouchers):
    client.configuration = {"order": "steps"}
    client.start(shop)
    guided(client)
    suspects = client.suspects()["suspects"]
    steps = [suspect["steps"] for suspect in suspects]
    assert steps == sorted(steps)
    walk = [client.command("nextSuspect") for _ in suspects]
    places = [(step["uri"], line_in(step)) for step in walk]
    assert places[0] == (suspects[0]["uri"], suspects[0]["line"] - 1)
    assert len(set(places)) == len(suspects), "no suspect comes twice before all were there"
    assert client.command("previousSuspect") == walk[-2]
    assert client.command("nextSuspect") is not None, "and then they come again"
    # the choice of the order is a setting that can change at any time
    client.configuration = {"order": "rank"}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.ask_until(lambda: [s["steps"] for s in client.suspects()["suspects"]] != steps)


def test_a_reader_who_never_comes_back_has_no_expected_steps_but_moves(client, shop, vouchers, find_line):
    client.start(shop, options={"pJump": 1, "order": "steps", "showNotifications": "onWarning"})
    client.wait(lambda: any("p_jump" in message["message"] for message in client.messages))
    line = find_line(vouchers, "off = off - amount")
    assert client.command("jump", cursor(vouchers, line))["moves"]
    assert client.command("nextSuspect") is not None
    assert {suspect["steps"] for suspect in client.suspects()["suspects"]} == {None}


def test_weights_and_p_jump_change_the_moves_at_once(client, shop, vouchers, find_line):
    client.configuration = {"pJump": 0}
    client.start(shop)
    at = cursor(vouchers, find_line(vouchers, "off = off - amount"))
    reasons = {why for move in client.command("jump", at)["moves"] for why in move["reasons"]}
    assert all("ranking" in why for why in reasons)
    client.configuration = {"pJump": 0.9, "jumpWeightSameFunction": 0, "jumpWeightCalls": 0}
    client.notify("workspace/didChangeConfiguration", {"settings": None})
    client.ask_until(lambda: {w for m in client.command("jump", at)["moves"] for w in m["reasons"]} != reasons)
    moves = client.command("jump", at)["moves"]
    assert moves[0]["reasons"][0] in ("runs just before", "runs just after")
    assert not [move for move in moves if "same function" in move["reasons"]]


# marking


def test_marking_changes_the_chain_at_once(client, shop, vouchers, find_line):
    client.start(shop)
    line = find_line(vouchers, "off = off - amount")
    at = cursor(vouchers, line)
    first = client.command("jump", at)["moves"][0]
    assert client.command("markInnocent", first["uri"], first["line"] - 1) is True
    moves = client.command("jump", at)["moves"]
    assert (first["uri"], first["line"]) not in {(move["uri"], move["line"]) for move in moves}
    assert sum(move["probability"] for move in moves) > 0.9
    guided(client)
    assert client.command("markExamined", vouchers.as_uri(), line) is True
    suspects = {s["line"]: s for s in client.suspects()["suspects"] if s["file"] == "shop/vouchers.py"}
    assert suspects[line + 1]["examined"]
    assert not suspects[line + 1]["innocent"]
    client.ask_until(lambda: all(s["steps"] is None for s in client.suspects()["suspects"] if s["examined"]))
    client.command("clearExamined")
    assert first["line"] in {move["line"] for move in client.command("jump", at)["moves"]}


@pytest.mark.parametrize("command", ["markInnocent", "markExamined"])
def test_a_whole_function_can_be_marked(client, shop, vouchers, find_line, command):
    client.start(shop)
    line = find_line(vouchers, "off = off - amount")
    function = client.command("jump", cursor(vouchers, line))["origin"]["function"]
    assert client.command(command, vouchers.as_uri(), line, "function") is True
    for suspect in client.suspects()["suspects"]:
        assert suspect["examined"] is (suspect["function"] == function)
        assert suspect["innocent"] is (suspect["examined"] and command == "markInnocent")
    assert line + 1 not in {mark for file, mark in client.marks(shop) if file == "shop/vouchers.py"}


def test_when_all_are_innocent_nobody_is_left(client, shop):
    client.start(shop)
    for suspect in client.suspects()["suspects"]:
        client.command("markInnocent", suspect["uri"], suspect["line"] - 1, "function")
    assert client.command("nextSuspect") is None
    client.wait(lambda: not client.marks(shop))


# learning


def test_nothing_is_learned_without_consent(client, shop, vouchers, find_line, state):
    client.start(shop)
    walk(client, vouchers, find_line)
    known = client.command("showLearned")
    assert (known["consent"], known["jumps"], known["returns"], known["pJump"]) == (False, 0, 0, 0.5)
    assert not state.exists()
    assert client.command("resetLearned") is False


def walk(client, vouchers, find_line):
    """One jump to a neighbour and one return to the ranking."""
    at = cursor(vouchers, find_line(vouchers, "off = off - amount"))
    near = next(m for m in client.command("jump", at)["moves"] if "same function" in m["reasons"])
    client.command("jump", at, {"to": {"uri": near["uri"], "line": near["line"] - 1}})
    client.command("nextSuspect")


def test_jumps_are_learned_with_consent_kept_here_and_reset(client, shop, vouchers, find_line, state, until):
    client.configuration = {"learnJumps": True}
    client.start(shop)
    walk(client, vouchers, find_line)
    until(lambda: state.exists() and client.command("showLearned")["returns"] == 1)
    known = client.command("showLearned")
    assert (known["consent"], known["jumps"], known["returns"]) == (True, 1, 1)
    assert known["low"] < known["pJump"] < known["high"]
    assert known["file"] == str(state)
    assert json.loads(state.read_text()) == {"jumps": 1, "returns": 1}, "two counts, and nothing about the project"
    assert client.command("resetLearned") is True
    assert not state.exists()
    assert client.command("showLearned")["jumps"] == 0


def test_what_was_learned_changes_the_moves(connect, shop, vouchers, find_line, state):
    state.parent.mkdir(parents=True)
    state.write_text(json.dumps({"jumps": 0, "returns": 10_000}))
    client = connect()
    client.configuration = {"learnJumps": True}
    client.start(shop)
    assert client.command("showLearned")["pJump"] == pytest.approx(5 / 10_010)
    moves = client.command("jump", cursor(vouchers, find_line(vouchers, "off = off - amount")))["moves"]
    assert all("ranking" in why for move in moves for why in move["reasons"])


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"jumps": -1, "returns": 0}', '{"jumps": 1.5, "returns": 0}', "9" * 9000, "\0"]
)
def test_a_damaged_file_of_counts_is_nothing_learned(text, tmp_path):
    file = tmp_path / "learned-jumps.json"
    file.write_text(text)
    known = learned_module.LearnedMoves(file)
    assert (known.habit.jumps, known.habit.returns) == (0, 0)
    known.add(True)
    assert json.loads(file.read_text()) == {"jumps": 1, "returns": 0}


def test_counts_of_two_editors_add_up_and_a_full_disk_loses_the_move_alone(tmp_path):
    file = tmp_path / "deep" / "learned-jumps.json"
    one, other = learned_module.LearnedMoves(file), learned_module.LearnedMoves(file)
    one.add(True)
    other.add(False)
    assert (other.habit.jumps, other.habit.returns) == (1, 1)
    blocked = learned_module.LearnedMoves(tmp_path / "deep" / "learned-jumps.json" / "below" / "x.json")
    blocked.add(True)
    assert blocked.habit.jumps == 0


def test_a_client_without_a_view_is_told_what_was_learned(client, shop):
    client.start(shop, capabilities={}, options={"learnJumps": True})
    client.command("showLearned")
    client.wait(lambda: client.messages)
    assert client.messages[-1]["message"].startswith("No moves seen so far")


# the trail


def test_the_trail_follows_lines_into_a_new_run_and_forgets_what_is_gone():
    trail = Trail()
    stops = [Stop("a", ("x.py", line)) for line in (1, 2, 3)]
    for stop in stops:
        trail.go(stop)
    trail.go(Stop("b", ("x.py", 9)))
    trail.remap_lines("a", lambda place: None if place[1] == 2 else (place[0], place[1] + 10))
    assert [trail.back(), trail.back(), trail.back()] == [Stop("a", ("x.py", 13)), Stop("a", ("x.py", 11)), None]
    assert trail.saw(Stop("b", ("x.py", 9)))
    assert not trail.saw(stops[1])
    trail.begin_again()
    assert [stop.line[1] for stop in (Stop("b", ("x.py", 9)), trail.current) if trail.saw(stop)] == [11]


# regions


def test_a_report_of_subgraphs_is_shown_as_regions(client, shop, vouchers, find_line):
    client.start(shop, options={"technique": "sbbfl"})
    uri = vouchers.as_uri()
    regions = [d for d in client.diagnostics[uri] if "subgraph" in d["data"]]
    assert regions
    whole = vouchers.read_text().splitlines()
    fault = find_line(vouchers, "off = off - amount")
    containing = [d for d in regions if d["range"]["start"]["line"] <= fault <= d["range"]["end"]["line"]]
    assert len(containing) == 1, "regions do not overlap"
    region = containing[0]
    start, end = region["range"]["start"], region["range"]["end"]
    assert end["line"] > start["line"], "all its lines"
    assert end["character"] == len(whole[end["line"]])
    assert region["message"].startswith("Suspicious behaviour ")
    assert "SBBFL" in region["message"]
    assert (region["data"]["line"], region["data"]["endLine"]) == (start["line"] + 1, end["line"] + 1)
    same = [d for d in regions if d["data"]["subgraph"] == region["data"]["subgraph"]]
    assert sorted(d["data"]["part"] for d in same) == list(range(1, len(same) + 1))
    assert {d["data"]["parts"] for d in regions if d["data"]["subgraph"] == region["data"]["subgraph"]} >= {len(same)}
    # a line that was examined parts its region
    client.command("markExamined", uri, fault)
    client.wait(
        lambda: (
            not [
                d for d in client.diagnostics[uri] if d["range"]["start"]["line"] <= fault <= d["range"]["end"]["line"]
            ]
        )
    )
