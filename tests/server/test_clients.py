"""The main job with what real editors say of themselves, as tests/fixtures/clients/README.md tells."""

import asyncio
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from lsprotocol.converters import get_converter
from pytest_lsp import ClientServerConfig, LanguageClient

CLIENTS = Path(__file__).parent.parent / "fixtures" / "clients"
TIMEOUT_S = 30

# what is sent in spite of what the client says is an error
pytestmark = pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning")


@dataclass(frozen=True)
class Takes:
    """What an editor takes, as its makers have it."""

    encoding: str = "utf-16"
    markdown: bool = True
    related: bool = False  # information beside a diagnostic
    shows: bool = True  # a document at the server's wish
    refreshes: bool = False  # code lenses at the server's wish
    status: bool = False  # our own notification
    watched: bool = False  # settings are registered for


EDITORS = {
    "emacs-28.2": Takes(markdown=False, shows=False),
    "emacs-30.2": Takes("utf-32", markdown=False),
    "helix-25.07.1": Takes("utf-8"),
    "kate-26.08.2": Takes(related=True, shows=False),
    "neovim-0.7.2": Takes(related=True, shows=False),
    "neovim-0.12.4": Takes("utf-8", related=True, refreshes=True),
    "vscode-1.139.1": Takes(related=True, refreshes=True, status=True, watched=True),
}


def test_every_editor_that_was_overheard_is_in_the_table():
    assert {path.stem for path in CLIENTS.glob("*.json")} == set(EDITORS)


def first_words(name, root):
    """The editor's own `initialize`, for another folder."""
    said = json.loads((CLIENTS / f"{name}.json").read_text())
    folders = [{"uri": root.as_uri(), "name": root.name}]
    said |= {"processId": None, "rootPath": str(root), "rootUri": root.as_uri(), "workspaceFolders": folders}
    return get_converter().structure(said, lsp.InitializeParams)


@pytest_lsp.fixture(
    params=EDITORS,
    config=ClientServerConfig(server_command=[sys.executable, "-m", "suspectra_server"]),
)
async def editor(lsp_client: LanguageClient, request, shop):
    lsp_client.refreshes = 0
    lsp_client.statuses = []
    lsp_client.registered = []

    @lsp_client.feature(lsp.WORKSPACE_CODE_LENS_REFRESH)
    def refresh(params):
        lsp_client.refreshes += 1

    @lsp_client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
    def register(params: lsp.RegistrationParams):
        lsp_client.registered += [registration.method for registration in params.registrations]

    @lsp_client.feature("suspectra/status")
    def status(params):
        lsp_client.statuses.append(params)

    lsp_client.takes = EDITORS[request.param]
    lsp_client.answer = await lsp_client.initialize_session(first_words(request.param, shop))
    yield
    await lsp_client.shutdown_session()


async def marks(editor, uri):
    async def arrive():
        while not editor.diagnostics.get(uri):
            await editor.wait_for_notification("textDocument/publishDiagnostics")

    await asyncio.wait_for(arrive(), TIMEOUT_S)
    return editor.diagnostics[uri]


@pytest.mark.slow
@pytest.mark.asyncio
async def test_an_editor_is_served_as_it_asks_and_can(editor: LanguageClient, shop, markers):
    """One session an editor, as starting the server takes longer than all that is asked of it."""
    await does_the_main_job(editor, shop, markers)
    await gets_what_it_can_take(editor, shop)
    await is_told_how_the_tests_ended(editor, shop)


async def does_the_main_job(editor, shop, markers):
    path = shop / "shop/vouchers.py"
    uri = path.as_uri()
    found = await marks(editor, uri)
    (first,) = (line for (file, line), rank in markers(shop).items() if file == "shop/vouchers.py" and rank == 1)
    assert {diagnostic.range.start.line + 1 for diagnostic in found} == {first}
    assert {diagnostic.severity for diagnostic in found} == {lsp.DiagnosticSeverity.Information}
    failed = await marks(editor, (shop / "tests/test_shop.py").as_uri())
    assert {(diagnostic.severity, diagnostic.code) for diagnostic in failed} == {
        (lsp.DiagnosticSeverity.Error, "failing-test")
    }

    document = lsp.TextDocumentItem(uri, "python", 1, path.read_text())
    editor.text_document_did_open(lsp.DidOpenTextDocumentParams(document))
    where = lsp.TextDocumentIdentifier(uri)
    hover = await editor.text_document_hover_async(lsp.HoverParams(where, lsp.Position(16, 10)))
    # a client with a status of its own shows the diagnostic above the hover, which says the rank
    assert ("Most suspicious" in hover.contents.value) != editor.takes.status
    assert "never_below_zero" in hover.contents.value
    actions = await editor.text_document_code_action_async(
        lsp.CodeActionParams(where, found[0].range, lsp.CodeActionContext([found[0]]))
    )
    assert any("examined" in action.title for action in actions)
    symbols = await editor.workspace_symbol_async(lsp.WorkspaceSymbolParams(""))
    assert len(symbols) == len(markers(shop))
    location = await editor.workspace_execute_command_async(lsp.ExecuteCommandParams("suspectra.server.nextSuspect"))
    assert (location["uri"] if isinstance(location, dict) else location.uri) == uri
    lenses = await editor.text_document_code_lens_async(lsp.CodeLensParams(where))
    assert lenses


async def gets_what_it_can_take(editor, shop):
    await marks(editor, (shop / "shop/vouchers.py").as_uri())
    await editor.workspace_execute_command_async(lsp.ExecuteCommandParams("suspectra.server.firstSuspect"))
    await editor.workspace_execute_command_async(lsp.ExecuteCommandParams("suspectra.server.explain"))
    takes = editor.takes
    assert editor.answer.capabilities.position_encoding == takes.encoding
    # a refresh where it is not supported would be answered with an error
    assert bool(editor.refreshes) == takes.refreshes
    assert bool(editor.statuses) == takes.status
    assert bool(editor.shown_documents) == takes.shows
    assert bool(editor.messages) == (not takes.status)
    assert editor.registered == (["workspace/didChangeConfiguration"] if takes.watched else [])
    found = [one for diagnostics in editor.diagnostics.values() for one in diagnostics]
    # the line in which a test failed leads to the first suspect; a suspect names no tests, which its hover does
    related = {d.related_information is not None for d in found if d.code == "failing-test"}
    assert related <= {takes.related}
    assert not any(d.related_information for d in found if d.code != "failing-test")
    where = lsp.TextDocumentIdentifier((shop / "shop/vouchers.py").as_uri())
    hover = await editor.text_document_hover_async(lsp.HoverParams(where, lsp.Position(16, 10)))
    assert hover.contents.kind == (lsp.MarkupKind.Markdown if takes.markdown else lsp.MarkupKind.PlainText)


async def is_told_how_the_tests_ended(editor, shop):
    """After the user asked for a run."""
    await marks(editor, (shop / "shop/vouchers.py").as_uri())
    source = shop / "shop/vouchers.py"
    source.write_text(source.read_text().replace("off = off - amount", "off = amount"))
    assert await editor.workspace_execute_command_async(lsp.ExecuteCommandParams("suspectra.server.runTests"))

    async def until(happened):
        methods = "suspectra/status", "window/showMessage", "textDocument/publishDiagnostics"
        while not happened():
            news = [asyncio.ensure_future(editor.wait_for_notification(method)) for method in methods]
            # one may have come before its task began to wait
            await asyncio.wait(news, timeout=0.5, return_when=asyncio.FIRST_COMPLETED)

    def reported():
        if editor.takes.status:
            return editor.statuses[-1].state == "noFailingTests"
        return any("no test failed" in message.message for message in editor.messages)

    await asyncio.wait_for(until(reported), TIMEOUT_S)
    await asyncio.wait_for(until(lambda: not any(editor.diagnostics.values())), TIMEOUT_S)
