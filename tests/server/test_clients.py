"""The main job as the capabilities of real clients shape it: VS Code, Neovim, Emacs and Helix."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from lsprotocol.converters import get_converter
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

CLIENTS = Path(__file__).parent.parent / "fixtures" / "clients"
PATIENCE = 30
CONVERTER = get_converter()


def merged(first, second):
    if isinstance(first, dict) and isinstance(second, dict):
        return {key: merged(first.get(key), second.get(key, first.get(key))) for key in {**first, **second}}
    return second


def capabilities_of(name):
    if name == "helix":
        raw = json.loads((CLIENTS / "helix.json").read_text())
    elif name == "vscode":
        # pytest-lsp knows the VS Code of 2022; what its client library has said since then is added
        old = CONVERTER.unstructure(client_capabilities("visual-studio-code"))
        raw = merged(old, json.loads((CLIENTS / "vscode_additions.json").read_text()))
    else:
        return client_capabilities(name)
    return CONVERTER.structure(raw, lsp.ClientCapabilities)


@pytest_lsp.fixture(
    params=["vscode", "neovim@v0.11", "emacs", "helix"],
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

    lsp_client.name = request.param.partition("@")[0]
    lsp_client.answer = await lsp_client.initialize_session(
        lsp.InitializeParams(
            capabilities=capabilities_of(request.param),
            workspace_folders=[lsp.WorkspaceFolder(shop.as_uri(), "shop")],
            root_uri=shop.as_uri(),
        )
    )
    yield
    await lsp_client.shutdown_session()


async def marks(editor, uri):
    async def arrive():
        while not editor.diagnostics.get(uri):
            await editor.wait_for_notification("textDocument/publishDiagnostics")

    await asyncio.wait_for(arrive(), PATIENCE)
    return editor.diagnostics[uri]


@pytest.mark.asyncio
async def test_the_main_job(editor: LanguageClient, shop, markers):
    path = shop / "shop/vouchers.py"
    uri = path.as_uri()
    found = await marks(editor, uri)
    lines = {line for file, line in markers(shop) if file == "shop/vouchers.py"}
    assert {diagnostic.range.start.line + 1 for diagnostic in found} == lines

    document = lsp.TextDocumentItem(uri, "python", 1, path.read_text())
    editor.text_document_did_open(lsp.DidOpenTextDocumentParams(document))
    where = lsp.TextDocumentIdentifier(uri)
    hover = await editor.text_document_hover_async(lsp.HoverParams(where, lsp.Position(16, 10)))
    assert "Suspect 1 of 24" in hover.contents.value
    actions = await editor.text_document_code_action_async(
        lsp.CodeActionParams(where, found[0].range, lsp.CodeActionContext([found[0]]))
    )
    assert any("examined" in action.title for action in actions)
    symbols = await editor.workspace_symbol_async(lsp.WorkspaceSymbolParams(""))
    assert len(symbols) == len(markers(shop))
    location = await editor.workspace_execute_command_async(lsp.ExecuteCommandParams("suspectra.nextSuspect"))
    assert (location["uri"] if isinstance(location, dict) else location.uri) == uri
    lenses = await editor.text_document_code_lens_async(lsp.CodeLensParams(where))
    assert lenses


@pytest.mark.asyncio
async def test_each_client_gets_what_it_can_take(editor: LanguageClient, shop):
    await marks(editor, (shop / "shop/vouchers.py").as_uri())
    await editor.workspace_execute_command_async(lsp.ExecuteCommandParams("suspectra.firstSuspect"))
    await editor.workspace_execute_command_async(lsp.ExecuteCommandParams("suspectra.explain"))
    encoding = {"vscode": "utf-16", "neovim": "utf-8", "emacs": "utf-32", "helix": "utf-8"}[editor.name]
    assert editor.answer.capabilities.position_encoding == encoding
    # a refresh where it is not supported would be answered with an error
    assert bool(editor.refreshes) == (editor.name == "vscode")
    assert bool(editor.statuses) == (editor.name == "vscode")
    assert bool(editor.shown_documents) == (editor.name != "emacs")
    assert bool(editor.messages) == (editor.name != "vscode")
    assert editor.registered == (["workspace/didChangeConfiguration"] if editor.name == "vscode" else [])
    related = {d.related_information is not None for found in editor.diagnostics.values() for d in found}
    assert related == {editor.name in ("vscode", "neovim")}
