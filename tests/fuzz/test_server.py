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
        "command": st.sampled_from(["suspectra.nextSuspect", "suspectra.explain", "suspectra.jump", "nothing"]),
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
        "suspectra/chain",
        "suspectra/explanation",
        "no/such/method",
    ]
)
IDS = st.one_of(st.none(), st.integers(1, 10**6), st.text(min_size=1, max_size=6))


@st.composite
def messages(draw):
    message = {"jsonrpc": "2.0", "method": draw(METHODS), "params": draw(st.one_of(PARAMS, JSON))}
    if (msg_id := draw(IDS)) is not None:
        message["id"] = msg_id
    return json.dumps(message).encode()


@pytest.mark.parametrize("number", range(len(fuzz_targets.seeds("lsp"))))
@pytest.mark.parametrize("hello", [True, False])
def test_seeds_do_no_harm(number, hello):
    fuzz_lsp.run(fuzz_targets.seeds("lsp")[number], hello=hello)


@settings(max_examples=60, deadline=None)
@given(sent=st.lists(messages(), min_size=1, max_size=8), hello=st.booleans())
def test_requests_in_any_order_with_any_parameters_are_answered(sent, hello):
    fuzz_lsp.run(b"\n".join(sent), hello=hello)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=40), JSON.map(lambda v: json.dumps(v).encode())), max_size=6))
def test_any_bytes_are_refused_and_the_server_goes_on(bodies):
    bodies = [body.replace(b"\n", b" ") for body in bodies]
    last = b'{"jsonrpc": "2.0", "id": "last", "method": "suspectra/techniques"}'
    answered = [m for m in fuzz_lsp.run(b"\n".join([*bodies, last])) if m.get("id") == "last"]
    assert answered[0]["result"]
