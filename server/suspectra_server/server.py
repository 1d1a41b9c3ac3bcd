"""The language server: connects one client with its workspace folders and the features."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from lsprotocol import types as lsp
from pygls.lsp._capabilities import get_capability
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path

import suspectra
from suspectra_server.features import (
    agent_answers,
    chain_steps,
    code_actions,
    code_lens,
    command_line,
    diagnostics,
    hover,
    inlay_hints,
    suspects,
    symbols,
    test_results,
)
from suspectra_server.features.commands import commands
from suspectra_server.features.compared_runs import diagnostics_of
from suspectra_server.messages import AnswerSoFar, Status
from suspectra_server.positions import path_of
from suspectra_server.protocol import ANSWER_SO_FAR, STATUS
from suspectra_server.safe_text import MAX_TEXT, plain
from suspectra_server.session.configuration import Configuration
from suspectra_server.session.experiments.cause_search import CauseSearch
from suspectra_server.session.experiments.consent import Consent
from suspectra_server.session.experiments.experiment_run import ExperimentRun
from suspectra_server.session.experiments.run_comparison import RunComparison
from suspectra_server.session.experiments.shown_run import ShownRun
from suspectra_server.session.folder import Folder
from suspectra_server.session.folders import Folders
from suspectra_server.session.navigation.learned_moves import LearnedMoves
from suspectra_server.session.notices import Notices
from suspectra_server.session.ranking.watching import WatchKey
from suspectra_server.session.roots import root_of
from suspectra_server.session.status import status_of
from suspectra_server.session.tests.after_run import AfterRun
from suspectra_server.session.tests.on_save import OnSave
from suspectra_server.session.tests.test_run import TestRun
from suspectra_server.session.trust import Trust
from suspectra_server.session.workers import Workers
from suspectra_server.settings import SECTION, Settings
from suspectra_server.state.documents import Document, Documents, Units
from suspectra_server.state.trail import Trail
from suspectra_server.timing import CONFIGURATION_TIMEOUT_S, SAVE_TIMEOUT_S
from suspectra_server.transport import wire

log = logging.getLogger(__name__)

FEATURES = (
    code_lens,
    hover,
    inlay_hints,
    symbols,
    code_actions,
    suspects,
    chain_steps,
    test_results,
    command_line,
    commands,
    agent_answers,
)


class SuspectraServer(LanguageServer):
    """Serves one client; to the features it is their `Session`. Needs a running loop."""

    protocol: wire.Protocol
    learned: LearnedMoves

    def __init__(self, *, trusting: bool = True) -> None:
        super().__init__(
            "suspectra",
            suspectra.__version__,
            protocol_cls=wire.Protocol,
            converter_factory=wire.make_converter,
            max_workers=1,
        )
        loop = asyncio.get_running_loop()
        self.workers = Workers(loop, self._changed_on_disk)
        self.files = self.workers.files
        self.folders = Folders()
        self.trust = Trust(trusting)
        self.trail = Trail()
        self.published = diagnostics.Published(self, lambda folder: diagnostics_of(self, folder))
        self.test_run = TestRun(self, self.trust, self.files, self.keep_running)
        self.consent = Consent()
        self.experiment_run = ExperimentRun(self, self.trust, self.workers.experiments, self.keep_running)
        self.on_save = OnSave(self.trust, self.test_run, self.experiment_run, self.keep_running)
        self.after_run = AfterRun(self, self.trust, self.test_run, self.experiment_run, self.keep_running)
        self.cause_search: CauseSearch | None = None
        self.shown_run: ShownRun | None = None
        self.comparison: RunComparison | None = None
        self.notices = Notices(self, self.test_run, self.keep_running)
        self._configuration: Configuration | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        self._changing = asyncio.Lock()
        self._reading_settings: asyncio.Task[None] | None = None  # requests changed settings
        self._outdated = False  # they have changed again since that request
        self._started = asyncio.Event()  # the folders are known

    # capabilities of the client

    def can(self, capability: str) -> object:
        """A client capability by its path, None where the client does not have it."""
        return get_capability(self.client_capabilities, capability)

    @property
    def units(self) -> Units:
        """The units in which the client counts columns."""
        return Units.for_encoding(self.workspace.position_encoding)

    @property
    def supports_status(self) -> bool:
        """Whether the client shows `suspectra/status`, so that it needs no messages about the state."""
        return self._supports("status")

    @property
    def follows_commands(self) -> bool:
        """Whether the client follows `command:` links in hovers."""
        return self._supports("commandLinks")

    def _supports(self, name: str) -> bool:
        """Whether the client has an experimental capability of Suspectra's own."""
        own = (self.client_capabilities.experimental or {}) if self._configuration else {}
        section = own.get("suspectra") if isinstance(own, Mapping) else None
        return isinstance(section, Mapping) and section.get(name) is True

    # start and end

    async def start(self, params: lsp.InitializeParams) -> None:
        """Read the client's folders and options; called while `initialize` is answered."""
        options = params.initialization_options
        self.trust.read(options)
        self._configuration = Configuration(options, self.trust)
        folders = list(params.workspace_folders or [])
        root = params.root_uri
        if root is None and params.root_path:
            root = from_fs_path(params.root_path)
        if not folders and root:
            folders = [lsp.WorkspaceFolder(root, "")]
        self.protocol.keep_documents(Documents, root, folders)
        self.learned = await self.files.run(LearnedMoves)
        alone = len(folders) == 1  # of several, each was chosen by the user
        for folder in folders:
            await self._add(folder.uri, look_up=alone and self.trust.granted)
        self._started.set()

    async def begin(self) -> None:
        """The client is ready: read its settings, then rank."""
        await self._started.wait()  # a client may send `initialized` before it has the answer to `initialize`
        # the server watches files by itself: watchers of clients are slow in a large workspace
        if self.can("workspace.did_change_configuration.dynamic_registration"):
            options = lsp.DidChangeConfigurationRegistrationOptions(section=SECTION)
            wanted = lsp.Registration("suspectra-settings", lsp.WORKSPACE_DID_CHANGE_CONFIGURATION, options)
            self.client_register_capability(lsp.RegistrationParams([wanted]))
        try:
            await asyncio.wait_for(self.configure(), CONFIGURATION_TIMEOUT_S)
        except asyncio.TimeoutError:
            log.warning("the client does not send its settings; going on without")
        self.rank()
        self.send_status()

    async def save(self) -> None:
        """Wait a moment for marks that are still being written."""
        if any(folder.unsaved for folder in self.folders):
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.files.run(lambda: None), SAVE_TIMEOUT_S)  # runs after all waiting jobs

    def stop_working(self) -> None:
        """Stop everything except writing files."""
        self.on_save.stop()
        self.test_run.cancel()
        for task in list(self._tasks):
            task.cancel()
        for folder in self.folders:
            folder.close()
        self.workers.stop_working()

    def stop(self) -> None:
        """Stop everything."""
        self.stop_working()
        self.workers.stop()

    def join(self) -> None:
        """Wait a moment for the threads of jobs to end, after `stop`."""
        self.workers.join()

    def keep_running(self, task: asyncio.Task[object]) -> None:
        """Keep a task alive, and log when it fails."""
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("%s: %s", type(error).__name__, error)

    # settings

    def settings_changed(self, pushed: object) -> None:
        """Read the settings again. Of changes during a request for them, the newest counts."""
        if pushed is not None:
            self._configured.push(pushed)
        self._outdated = True
        if self._reading_settings is None or self._reading_settings.done():
            self._reading_settings = asyncio.ensure_future(self._read_settings())
            self.keep_running(self._reading_settings)

    async def _read_settings(self) -> None:
        while self._outdated:
            self._outdated = False
            await self.configure()

    async def configure(self) -> None:
        """Read the settings: request them if the client supports that, otherwise use those that it sent."""
        configuration, folders = self._configured, list(self.folders)
        answers: list[object] = [None] * len(folders)
        if self.can("workspace.configuration") and folders:
            answers = await configuration.ask(folders, self.workspace_configuration_async)
        for folder, answer in zip(folders, answers, strict=True):
            folder.configure(self._settings(answer))

    def _settings(self, answer: object = None) -> Settings:
        """The settings of a folder, given the client's answer for it. The user is notified of invalid ones."""
        # a client without `suspectra/status` learns of problems only from messages
        defaults = Settings() if self.supports_status else Settings(show_notifications="onWarning")
        settings, complaints = self._configured.settings(answer, defaults)
        for complaint in complaints:
            self.notices.notify(complaint, lsp.MessageType.Warning, settings)
        return settings

    @property
    def _configured(self) -> Configuration:
        assert self._configuration is not None, "only `initialize` is handled before it is set"
        return self._configuration

    # folders

    async def _add(self, uri: str, *, look_up: bool = False) -> None:
        opened = path_of(uri)
        if opened is None:
            log.warning("ignoring the folder %s: only file: URIs can be served", uri)
            return
        root, real = await self.files.run(lambda: _resolved(opened, look_up))
        self._remove(uri)
        folder = Folder(self, uri, root, real, self._settings())
        self.folders.add(folder)
        for document in self.workspace.text_documents.values():
            if (path := folder.path_in(document.uri)) is not None:
                folder.opened(path, document)

    def _remove(self, uri: str) -> None:
        """Close a folder, and remove its diagnostics and pending notifications."""
        if folder := self.folders.get(uri):
            self.folders.remove(uri)
            self.on_save.leave_out(folder)
            self.test_run.leave_out(folder)
            self.experiment_run.leave_out(folder)
            self.after_run.leave_out(folder)
            self.published.withdraw(folder)
            self.notices.forget(folder)

    async def change_folders(self, event: lsp.WorkspaceFoldersChangeEvent) -> None:
        """Folders were opened or closed."""
        for removed in event.removed:
            self._remove(removed.uri)
        async with self._changing:  # resolving a folder takes a while: a later change must not overtake this one
            for added in event.added:
                await self._add(added.uri)
        await self.configure()
        for added in event.added:
            if folder := self.folders.get(added.uri):
                folder.rankings.rank()
        self.send_status()

    def _changed_on_disk(self, key: WatchKey) -> None:
        kind, uri = key
        if folder := self.folders.get(uri):
            folder.rankings.evidence_changed() if kind == "evidence" else folder.sources_changed()

    def document(self, uri: str) -> Document:
        """An open document."""
        return self.workspace.get_text_document(uri)  # type: ignore[return-value]

    # messages to the client

    def refresh(self, folder: Folder) -> None:
        """A folder has a new snapshot: publish what changed."""
        if folder.removed:
            return
        self.publish(folder)
        code_lens.refresh(self)
        inlay_hints.refresh(self)
        self.notices.report_problems(folder)
        self.notices.report_fixed(folder)
        self.test_run.ranked(folder)
        self.on_save.ranked(folder)
        navigation = folder.snapshot.navigation
        if navigation is not None and navigation.problem and folder.settings.order == "steps":
            self.notices.notify(str(navigation.problem), lsp.MessageType.Warning, folder.settings)
        self.send_status()

    def publish(self, folder: Folder) -> None:
        """Publish those diagnostics of a folder that changed."""
        self.published.publish(folder)

    def rank(self) -> None:
        """Rank every folder now."""
        for folder in self.folders:
            folder.rankings.rank()

    def send_status(self) -> None:
        """Send `suspectra/status` where the client takes it."""
        if self.supports_status and not self.protocol.finished.done():
            self.protocol.notify(STATUS, self.status())

    def send_so_far(self, known: AnswerSoFar) -> None:
        """Send what is known of an answer, to a client that is still there."""
        if not self.protocol.finished.done():
            self.protocol.notify(ANSWER_SO_FAR, known)

    def status(self) -> Status:
        """What is going on, over all folders."""
        return status_of(self.folders, self.test_run, self.experiment_run)

    def answer(self, text: str, kind: lsp.MessageType = lsp.MessageType.Info) -> None:
        """Say something to a user who asked for it."""
        self.window_show_message(lsp.ShowMessageParams(kind, plain(text, MAX_TEXT)))

    def notify(self, text: str, kind: lsp.MessageType = lsp.MessageType.Info) -> None:
        """The same, unless the client shows by itself what a command did."""
        if not self.supports_status:
            self.answer(text, kind)

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log errors: a message box about a client's bad request would help nobody."""
        log.warning("%s: %s", getattr(source, "__name__", source), error)


def _resolved(opened: Path, look_up: bool) -> tuple[Path, Path]:
    """The folder to serve for an opened one, and its path with links resolved; called in a worker thread."""
    root = root_of(opened) if look_up else opened
    return root, Path(os.path.realpath(root))


def make_server(*, trusting: bool = True) -> SuspectraServer:
    """A server with all its features; `trusting` says whether its client may trust a workspace.

    Needs a running loop.
    """
    server = SuspectraServer(trusting=trusting)
    _register_lifecycle(server)
    for feature in FEATURES:
        feature.register(server)
    return server


def _register_lifecycle(server: SuspectraServer) -> None:
    @server.feature(lsp.INITIALIZE)
    async def initialize(params: lsp.InitializeParams) -> None:
        await server.start(params)

    @server.feature(lsp.INITIALIZED)
    async def initialized(params: lsp.InitializedParams) -> None:
        await server.begin()

    @server.feature(lsp.SHUTDOWN)
    def shutdown(params: None) -> None:
        server.stop_working()
        server.protocol.cancel_pending()

    @server.feature(lsp.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configuration(params: lsp.DidChangeConfigurationParams) -> None:
        server.settings_changed(params.settings)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders(params: lsp.DidChangeWorkspaceFoldersParams) -> None:
        await server.change_folders(params.event)

    @server.feature(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(params: lsp.DidChangeWatchedFilesParams) -> None:
        for folder, path in filter(None, {server.folders.containing(change.uri) for change in params.changes}):
            folder.rankings.evidence_changed() if path.startswith(".suspectra/") else folder.sources_changed()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        uri = params.text_document.uri
        if found := server.folders.containing(uri):
            found[0].opened(found[1], server.document(uri))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def edited(params: lsp.DidChangeTextDocumentParams) -> None:
        if found := server.folders.containing(params.text_document.uri):
            found[0].edited(found[1])
            server.on_save.edited(found[0])

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        if found := server.folders.containing(params.text_document.uri):
            found[0].sources_changed()
            server.on_save.saved(*found)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        if found := server.folders.containing(params.text_document.uri):
            found[0].closed(found[1])
