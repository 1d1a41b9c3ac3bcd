"""The language server against clients that send what nobody should, in no order."""

import json

import fuzz_lsp
import fuzz_targets
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

URIS = st.sampled_from(["file:///w/a.py", "file:///w/../../etc/passwd", "untitled:1", "", "file:///%00", "http://x/y"])
NUMBERS = st.one_of(st.integers(-1, 40), st.sampled_from([2**31, 2**63, -(2**63), 0.5, None, "1"]))
POSITIONS = st.fixed_dictionaries({"line": NUMBERS, "character": NUMBERS})
RANGES = st.fixed_dictionaries({"start": POSITIONS, "end": POSITIONS})
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "textDocument": st.fixed_dictionaries(
            {"uri": URIS}, optional={"version": NUMBERS, "text": st.text(max_size=9)}
        ),
        "position": POSITIONS,
        "range": RANGES,
        "context": st.just({"diagnostics": []}),
        "query": st.text(max_size=4),
        "command": st.sampled_from(
            ["suspectra.server.nextSuspect", "suspectra.server.explain", "suspectra.server.jump", "nothing"]
        ),
        "arguments": st.lists(JSON, max_size=3),
        "contentChanges": st.lists(st.fixed_dictionaries({"text": st.text(max_size=5)}, optional={"range": RANGES})),
        "limit": NUMBERS,
        "settings": JSON,
        "id": NUMBERS,
    },
)
METHODS = st.sampled_from(
    [
        "initialize",
        "initialized",
        "shutdown",
        "textDocument/didOpen",
        "textDocument/didChange",
        "textDocument/didClose",
        "textDocument/hover",
        "textDocument/codeLens",
        "textDocument/codeAction",
        "textDocument/inlayHint",
        "workspace/symbol",
        "workspace/executeCommand",
        "workspace/didChangeConfiguration",
        "$/cancelRequest",
        "suspectra/suspects",
        "suspectra/techniques",
        "suspectra/explanation",
        "no/such/method",
    ]
)
QUESTIONS = [
    "textDocument/hover",
    "textDocument/codeLens",
    "textDocument/codeAction",
    "textDocument/inlayHint",
    "workspace/symbol",
]
OWN = ["suspectra/suspects", "suspectra/explanation", "suspectra/testResults", "suspectra/coverage"]
IDS = st.one_of(st.none(), st.integers(1, 10**6), st.text(min_size=1, max_size=6))


@st.composite
def messages(draw):
    message = {"jsonrpc": "2.0", "method": draw(METHODS), "params": draw(st.one_of(PARAMS, JSON))}
    if (msg_id := draw(IDS)) is not None:
        message["id"] = msg_id
    return json.dumps(message).encode()


@pytest.mark.parametrize("number", range(len(fuzz_targets.seeds("lsp"))))
@pytest.mark.parametrize("greeted", [True, False])
def test_seeds_do_no_harm(number, greeted):
    fuzz_lsp.run(fuzz_targets.seeds("lsp")[number], greeted=greeted)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(sent=st.lists(messages(), min_size=1, max_size=8), greeted=st.booleans())
def test_requests_in_any_order_with_any_parameters_are_answered(sent, greeted):
    fuzz_lsp.run(b"\n".join(sent), greeted=greeted)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=40), JSON.map(lambda v: json.dumps(v).encode())), max_size=6))
def test_any_bytes_are_refused_and_the_server_goes_on(bodies):
    bodies = [body.replace(b"\n", b" ") for body in bodies]
    last = b'{"jsonrpc": "2.0", "id": "last", "method": "suspectra/techniques"}'
    answered = [m for m in fuzz_lsp.run(b"\n".join([*bodies, last])) if m.get("id") == "last"]
    assert answered[0]["result"]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The URI of a workspace with suspects."""
    folder = tmp_path_factory.mktemp("ranked")
    logs = folder / ".suspectra" / "recording"
    logs.mkdir(parents=True)
    (logs / "1.log").write_bytes(fuzz_targets.seeds("recording")[0])
    (folder / "a.py").write_text(TEXT)
    (folder / "t.py").write_text("")
    return folder.as_uri()


TEXT = "def f(x):\n    if x:\n        return 1\n    return 2\n"  # as it was when the seed was recorded
COMMANDS = ["nextSuspect", "previousSuspect", "firstSuspect", "explain", "markExamined", "markInnocent", "jump", "back"]
EDGES = st.sampled_from([0, 1, 2, 17, 18, 19, 10**6, 2**31 - 1, 2**31, 2**53, 2**64, -1])
ANYWHERE = st.fixed_dictionaries({"line": EDGES, "character": EDGES})
TYPED = st.text(st.sampled_from("a\n\r\u00e4\U0001f600\ud83d\ude00\x00\u2028"), max_size=6)
VERSIONS = st.sampled_from([2, 1, 0, -5, 2**31, 2, None])


@st.composite
def steps(draw, uri):
    """What one editor sends next about one document, sound in form and wild in content."""
    document = {"uri": uri}
    kind = draw(st.sampled_from(["open", "change", "close", "ask", "ask", "command", "own", "cancel"]))
    if kind == "open":
        item = document | {"languageId": "python", "version": draw(VERSIONS) or 1, "text": draw(TYPED)}
        return "textDocument/didOpen", {"textDocument": item}
    if kind == "change":
        places = {"start": draw(ANYWHERE), "end": draw(ANYWHERE)}
        change = {"text": draw(TYPED)} | ({"range": places} if draw(st.booleans()) else {})
        return "textDocument/didChange", {
            "textDocument": document | {"version": draw(VERSIONS)},
            "contentChanges": [change] * draw(st.integers(0, 3)),
        }
    if kind == "close":
        return "textDocument/didClose", {"textDocument": document}
    if kind == "cancel":
        return "$/cancelRequest", {"id": draw(st.one_of(st.integers(0, 40), st.sampled_from([2**63, "x", -1])))}
    if kind == "command":
        place = draw(st.sampled_from([[], [uri, draw(EDGES)], [{"uri": uri, "position": draw(ANYWHERE)}]]))
        return "workspace/executeCommand", {
            "command": f"suspectra.server.{draw(st.sampled_from(COMMANDS))}",
            "arguments": place,
        }
    if kind == "own":
        return draw(st.sampled_from(OWN)), {"uri": uri, "line": draw(EDGES), "limit": draw(EDGES)}
    position = {"position": draw(ANYWHERE), "range": {"start": draw(ANYWHERE), "end": draw(ANYWHERE)}}
    return draw(st.sampled_from(QUESTIONS)), {
        "textDocument": document,
        "context": {"diagnostics": []},
        "query": draw(TYPED),
    } | position


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_an_editor_gone_wild_over_suspects_is_answered(root, data):
    inside = f"{root}/a.py"
    uris = [inside] * 4 + [
        f"{root}/../x.py",
        f"{root}/%ED%A0%BD.py",
        "untitled:a",
        "vscode-notebook-cell:/a#b",
        "git:/a",
        "",
    ]
    sent = []
    for number in range(data.draw(st.integers(1, 12))):
        method, params = data.draw(steps(data.draw(st.sampled_from(uris))))
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if not method.startswith(("textDocument/did", "$/")):
            message["id"] = number
        sent.append(json.dumps(message).encode())
    fuzz_lsp.run(b"\n".join(sent), root=root)


def test_a_storm_of_cancellations_leaves_every_request_with_one_answer(root):
    sent = []
    for number in range(300):
        ask = {"jsonrpc": "2.0", "id": number, "method": "suspectra/testResults", "params": {}}
        sent += [ask] + [{"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}}] * 5
    sent.append({"jsonrpc": "2.0", "id": 300, "method": "suspectra/suspects", "params": {}})
    answers = fuzz_lsp.run(b"\n".join(json.dumps(one).encode() for one in sent), root=root)
    assert next(m for m in answers if m.get("id") == 300)["result"]["suspects"]
    ids = [m["id"] for m in answers if "method" not in m and isinstance(m.get("id"), int)]
    assert sorted(ids) == list(range(301))
