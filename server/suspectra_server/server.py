"""The language server: one client, its workspace folders, and what they tell it."""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import os
import sys
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp._capabilities import get_capability
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path

import suspectra
from suspectra.errors import UsageError
from suspectra_server.convert import path_of
from suspectra_server.features import (
    chain,
    code_actions,
    code_lens,
    command_line,
    commands,
    diagnostics,
    hover,
    inlay_hints,
    suspects,
    symbols,
    test_results,
)
from suspectra_server.protocol import STATUS, State
from suspectra_server.session.folder import Folder, Folders
from suspectra_server.session.jobs import Jobs
from suspectra_server.session.learned_moves import Learned
from suspectra_server.session.roots import root_of
from suspectra_server.session.test_run import TestRun
from suspectra_server.session.watching import Watcher
from suspectra_server.settings import RESTRICTED, SECTION, Settings, read_settings, section_of
from suspectra_server.state.documents import Document, Documents, Units
from suspectra_server.state.marks_file import MarksFile
from suspectra_server.state.ranking import Ranking
from suspectra_server.state.trail import Trail
from suspectra_server.text import LONGEST_MESSAGE, many, plain
from suspectra_server.transport import sockets, wire
from suspectra_server.transport.access import make_token, token_file
from suspectra_server.transport.logs import BackgroundHandler

log = logging.getLogger(__name__)

CONFIGURATION_PATIENCE = 1.0  # seconds a client is given to say its settings before the first ranking
SAVING_PATIENCE = 1.0  # seconds
MOST_TOLD = 5  # problems of one ranking that are told one by one
SETTLING = 0.5  # seconds after which to see again whether a recording is complete
_LOUDNESS = {"off": 0, "onError": 1, "onWarning": 2, "always": 4}
_URGENT = (State.RUNNING_TESTS, State.RANKING, State.ERROR, State.STALE, State.READY, State.NO_FAILING_TESTS)


class SuspectraServer(LanguageServer):
    """Serves one client.

    Attributes
    ----------
    folders : Folders
        The workspace folders.
    jobs : Jobs
        Where rankings and models are made.
    files : Jobs
        Where files are looked at: the loop itself touches none, as one may be on a slow disk.
    learned : Learned
    trusting : bool
        Whether the client's word counts that it trusts the workspace.
    trusted : bool
        Whether the workspace is trusted; tests are not run in one that is not.
    finished : Future of int
        Set to the exit status when the client said `exit` or is gone.
    """

    protocol: wire.Protocol

    def __init__(self, *, trusting: bool = True) -> None:
        super().__init__(
            "suspectra",
            suspectra.__version__,
            protocol_cls=wire.Protocol,
            converter_factory=wire.make_converter,
            max_workers=1,
        )
        self.folders = Folders()
        self.trusting = trusting
        self.trusted = False
        self.trail = Trail()
        self.published = diagnostics.Published(self)
        self.test_run = TestRun(self)
        self._initial: Mapping[str, Any] = {}
        self._pushed: Mapping[str, Any] = {}
        self._told: dict[str, None] = {}
        self._untold: dict[Folder, asyncio.Task] = {}  # while its evidence is not complete
        self._status: dict[str, Any] | None = None
        self._tasks: set[asyncio.Task] = set()
        self._changing = asyncio.Lock()
        self._learning: asyncio.Task | None = None  # asks for settings that have changed
        self._outdated = False  # they have changed again since it asked
        self._started = asyncio.Event()  # the folders are known

    # what the client is

    def can(self, capability: str) -> Any:
        """A client capability by its path, None where the client does not have it."""
        return get_capability(self.client_capabilities, capability)

    @property
    def units(self) -> Units:
        """The units of columns the client wants."""
        return Units.of(self.workspace.position_encoding)

    @property
    def takes_status(self) -> bool:
        """Whether the client shows `suspectra/status`, and so has a place of its own for what is going on."""
        own = (self.client_capabilities.experimental or {}) if self._initialized else {}
        section = own.get("suspectra") if isinstance(own, Mapping) else None
        return isinstance(section, Mapping) and section.get("status") is True

    # life

    _initialized = False

    async def start(self, params: lsp.InitializeParams) -> None:
        """Take the client's folders and options; called while `initialize` is answered."""
        self._initialized = True
        loop = asyncio.get_running_loop()
        self.jobs = Jobs(loop)
        self.files = Jobs(loop, "suspectra-files")
        self.watcher = Watcher(loop, self._changed_on_disk)
        options = params.initialization_options
        self.trusted = self.trusting and not (isinstance(options, Mapping) and options.get("trusted") is False)
        self._initial = section_of(options)
        folders = params.workspace_folders or []
        root = params.root_uri
        if root is None and params.root_path:
            root = from_fs_path(params.root_path)
        if not folders and root:
            folders = [lsp.WorkspaceFolder(root, "")]
        self.protocol.keep_documents(Documents, root, folders)
        self.learned = await self.files.run(Learned)
        settings = self._read(self._initial)
        alone = len(folders) == 1  # several were chosen with care
        for folder in folders:
            await self._add(folder.uri, settings, look_up=alone and self.trusted)
        self._started.set()

    async def begin(self) -> None:
        """The client is ready: learn its settings, then rank."""
        await self._started.wait()  # a client may say so before it has the answer to `initialize`
        self._register()
        try:
            await asyncio.wait_for(self.configure(), CONFIGURATION_PATIENCE)
        except asyncio.TimeoutError:
            log.warning("the client does not say its settings; going on without")
        self.rank()
        self.say_status()

    async def save(self) -> None:
        """Wait for marks that are still being written, but not for ever."""
        if self._initialized and any(folder.unsaved for folder in self.folders):
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.files.run(lambda: None), SAVING_PATIENCE)  # after all that waits before it

    def stop_working(self) -> None:
        """End everything that runs, but for what is still being written."""
        self.test_run.cancel()
        for task in list(self._tasks):
            task.cancel()
        if self._initialized:
            for folder in self.folders:
                folder.close()
            self.watcher.stop()
            self.jobs.stop()

    def stop(self) -> None:
        """End everything that runs."""
        self.stop_working()
        if self._initialized:
            self.files.stop()

    def hold(self, task: asyncio.Task) -> None:
        """Keep a task alive, and say when it fails."""
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("%s: %s", type(error).__name__, error)

    # settings

    def settings_changed(self, pushed: Any) -> None:
        """Learn the settings anew; of all changes that come while the client is being asked, the newest counts."""
        if pushed is not None:
            self._pushed = section_of(pushed)
        self._outdated = True
        if self._learning is None or self._learning.done():
            self._learning = asyncio.ensure_future(self._learn())
            self.hold(self._learning)

    async def _learn(self) -> None:
        while self._outdated:
            self._outdated = False
            await self.configure()

    async def configure(self) -> None:
        """Learn the settings: ask where the client can be asked, else take what it pushed."""
        folders = list(self.folders)
        answers: list[Any] = [None] * len(folders)
        if self.can("workspace.configuration") and folders:
            items = [lsp.ConfigurationItem(scope_uri=folder.uri, section=SECTION) for folder in folders]
            try:
                answers = list(await self.workspace_configuration_async(lsp.ConfigurationParams(items)))
            except Exception as error:  # whatever the client answered
                log.warning("the client's settings can't be read: %s", error)
            answers += [None] * (len(folders) - len(answers))
        for folder, answer in zip(folders, answers, strict=False):
            given = {**self._initial, **self._pushed}
            if isinstance(answer, Mapping):
                given |= {name: value for name, value in answer.items() if value is not None}
            folder.configure(self._read(given))

    @property
    def _defaults(self) -> Settings:
        """The defaults; a client without a place for our status learns of problems from messages alone."""
        return Settings() if self.takes_status else Settings(show_notifications="onWarning")

    def _read(self, given: Mapping[str, Any]) -> Settings:
        left_out = [] if self.trusted else [name for name in RESTRICTED if given.get(name)]
        # these name files, which may be anywhere, on other machines too
        settings, complaints = read_settings({**given, **dict.fromkeys(left_out)}, self._defaults)
        if left_out:
            names = ", ".join(f"{SECTION}.{name}" for name in left_out)
            complaints.append(
                f"The workspace is not trusted, so settings that name files or programs are not used: {names}."
                " Trust the workspace in your editor, or give a server on a socket the option --trusted, to use them"
            )
        for complaint in complaints:
            self.tell(complaint, lsp.MessageType.Warning, settings)
        return settings

    def _register(self) -> None:
        # files are watched by the server itself: clients' watchers are slow to follow a whole workspace
        if self.can("workspace.did_change_configuration.dynamic_registration"):
            options = lsp.DidChangeConfigurationRegistrationOptions(section=SECTION)
            wanted = lsp.Registration("suspectra-settings", lsp.WORKSPACE_DID_CHANGE_CONFIGURATION, options)
            self.client_register_capability(lsp.RegistrationParams([wanted]))

    # folders

    async def _add(self, uri: str, settings: Settings, *, look_up: bool = False) -> None:
        opened = path_of(uri)
        if opened is None:
            log.warning("ignoring the folder %s: only file: URIs can be served", uri)
            return
        root, real = await self.files.run(lambda: _resolved(opened, look_up))
        self._remove(uri)
        folder = Folder(
            uri,
            root,
            real,
            settings,
            self.jobs,
            self.files,
            self.watcher,
            MarksFile(root, writable=self.trusted),
            changed=self.refresh,
            working=self.say_status,
            habit=lambda: self.learned.habit,
            carried=lambda folder, moved: self.trail.carry(folder.uri, moved),
        )
        self.folders.add(folder)
        for document in self.workspace.text_documents.values():
            if (path := folder.path_in(document.uri)) is not None:
                folder.opened(path, document)

    def _remove(self, uri: str) -> None:
        """Close a folder, and take back what was said of it."""
        if folder := self.folders.get(uri):
            self.folders.remove(uri)
            self.test_run.leave_out(folder)
            self.published.withdraw(folder)
            if waiting := self._untold.pop(folder, None):
                waiting.cancel()

    async def change_folders(self, event: lsp.WorkspaceFoldersChangeEvent) -> None:
        """Folders were opened or closed."""
        for removed in event.removed:
            self._remove(removed.uri)
        async with self._changing:  # each change is done before the next begins
            for added in event.added:
                await self._add(added.uri, self._read(self._initial))
        await self.configure()
        for added in event.added:
            if folder := self.folders.get(added.uri):
                folder.rank()
        self.say_status()

    def _changed_on_disk(self, key: Any) -> None:
        kind, uri = key
        if folder := self.folders.get(uri):
            folder.evidence_changed() if kind == "evidence" else folder.sources_changed()

    def document(self, uri: str) -> Document:
        """An open document."""
        return self.workspace.get_text_document(uri)  # type: ignore[return-value]

    # what the client is told

    def refresh(self, folder: Folder) -> None:
        """A folder has a new snapshot: publish what changed."""
        if folder.removed:
            return
        self.published.publish(folder)
        code_lens.refresh(self)
        inlay_hints.refresh(self)
        self.tell_problems(folder)
        self.test_run.ranked(folder)
        guide = folder.snapshot.guide
        if guide is not None and guide.problem and folder.settings.order == "steps":
            self.tell(str(guide.problem), lsp.MessageType.Warning, folder.settings)
        self.say_status()

    def rank(self) -> None:
        """Rank every folder now."""
        for folder in self.folders:
            folder.rank()

    def say_status(self) -> None:
        """Send `suspectra/status` where the client takes it."""
        if self.takes_status and not self.finished.done():
            self.protocol.notify(STATUS, self.status())

    def status(self) -> dict[str, Any]:
        """What is going on, over all folders."""
        folders = list(self.folders)
        states = {folder: self.state_of(folder) for folder in folders}
        state = next((state for state in _URGENT if state in states.values()), State.NO_EVIDENCE)
        speaking = next((folder for folder in folders if states[folder] is state), None)
        message = speaking.snapshot.message if speaking else "No folder is open"
        run = self.test_run
        if state in (State.RUNNING_TESTS, State.RANKING):
            message = f"Running the tests: {run.counts}" if state is State.RUNNING_TESTS else "Ranking"
        named = speaking or next(iter(folders), None)
        return {
            "state": state.value,
            "message": plain(message),
            "technique": named.snapshot.ranking.technique.name if named else Settings().technique,
            "suspects": sum(len(folder.snapshot.marks) for folder in folders),
            "failed": sum(folder.snapshot.ranking.failed for folder in folders),
            "passed": sum(folder.snapshot.ranking.passed for folder in folders),
            "collectionErrors": sum(len(folder.snapshot.errors) for folder in folders),
            "progress": asdict(run.counts) if state is State.RUNNING_TESTS else None,
        }

    def state_of(self, folder: Folder) -> State:
        """What a folder is doing, or how its ranking stands."""
        if self.test_run.runs(folder):
            return State.RUNNING_TESTS
        return State.RANKING if folder.busy else folder.snapshot.state

    def tell_problems(self, folder: Folder) -> None:
        """Tell the problems of the evidence, each once.

        While tests run, what they have not yet come to is of the run before. That settles itself, so only what is
        left of it at the end is told.
        """
        if waiting := self._untold.pop(folder, None):
            waiting.cancel()
        ranking = folder.snapshot.ranking
        if not ranking.problems or ranking.state is State.NO_EVIDENCE or folder.removed:
            return
        if ranking.state is State.ERROR:
            self._tell_all(folder, ranking)
        else:
            self._untold[folder] = asyncio.ensure_future(self._tell_when_settled(folder))
            self.hold(self._untold[folder])

    async def _tell_when_settled(self, folder: Folder) -> None:
        while self.test_run.runs(folder) or await folder.unsettled():
            await asyncio.sleep(SETTLING)
        self._untold.pop(folder, None)
        if not folder.removed:
            self._tell_all(folder, folder.snapshot.ranking)

    def _tell_all(self, folder: Folder, ranking: Ranking) -> None:
        grave = ranking.state is State.ERROR
        kind = lsp.MessageType.Error if grave else lsp.MessageType.Warning
        news = [text for text in map(str, ranking.problems) if text not in self._told]
        for number, text in enumerate(news):
            self.tell(text, kind, folder.settings, quiet=number >= MOST_TOLD)
        if len(news) > MOST_TOLD:
            more = f"{many(len(news) - MOST_TOLD, 'more problem')}: `suspectra rank` and the server's log list them"
            self.tell(more, kind, folder.settings)

    def tell(self, text: str, kind: lsp.MessageType, settings: Settings, *, quiet: bool = False) -> None:
        """Tell something nobody asked for, once: as a message if the user lets it through, else to the log."""
        if text in self._told:
            return
        self._told[text] = None
        if len(self._told) > 1000:
            self._told.pop(next(iter(self._told)))
        shown = plain(text, LONGEST_MESSAGE)
        if kind.value <= _LOUDNESS[settings.show_notifications] and not quiet:
            self.window_show_message(lsp.ShowMessageParams(kind, shown))
        else:
            self.window_log_message(lsp.LogMessageParams(kind, shown))

    def answer(self, text: str, kind: lsp.MessageType = lsp.MessageType.Info) -> None:
        """Say something to a user who asked for it."""
        self.window_show_message(lsp.ShowMessageParams(kind, plain(text, LONGEST_MESSAGE)))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Errors go to the log; nobody is served by a message box about a client's bad request."""
        log.warning("%s: %s", getattr(source, "__name__", source), error)


def _resolved(opened: Path, look_up: bool) -> tuple[Path, Path]:
    """The folder to serve for one that was opened, as it is named and with links followed; in a worker thread."""
    root = root_of(opened) if look_up else opened
    return root, Path(os.path.realpath(root))


def serve(
    *,
    tcp: tuple[str, int] | None = None,
    ws: tuple[str, int] | None = None,
    unix: Path | None = None,
    trusted: bool = False,
    token_path: Path | None = None,
) -> int:
    """Serve one client over standard input and output, or over the socket given, until it is gone.

    Parameters
    ----------
    tcp, ws : tuple of str and int, optional
        Host and port of a TCP socket or a WebSocket.
    unix : Path, optional
        The path of a Unix socket.
    trusted : bool
        Whether the client of a socket may have tests run. The client at standard streams has started the server, and
        may.
    token_path : Path, optional
        Where to keep the token that a client of `tcp` or `ws` must give. Without it the token is printed.

    Returns
    -------
    int
        0 when the client shut the server down, 1 when it did not.
    """

    async def run() -> int:
        server = make_server(trusting=trusted or not (tcp or ws or unix))
        try:
            if unix:
                return await sockets.serve_unix(server.protocol, unix, _say)
            if tcp or ws:
                return await with_token(server.protocol)
            return await wire.serve_stdio(server.protocol, *streams)
        finally:
            await server.save()
            server.stop()

    async def with_token(protocol: wire.Protocol) -> int:
        token = make_token()
        with token_file(token_path, token) if token_path else nullcontext():
            if token_path:
                _say(f"the token is in {token_path}")
            elif tcp:
                _say(f"the token is {token}")
            if tcp:
                return await sockets.serve_tcp(protocol, *tcp, token, _say)
            return await sockets.serve_websocket(protocol, *ws, token, _say, secret=token_path is not None)

    log_output = BackgroundHandler(2)
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s", handlers=[log_output])
    # they log tracebacks of what a client did wrong, or did not wait for, and watches that end while they are read
    for name in ("pygls", "asyncio", "watchdog"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    streams = None if tcp or ws or unix else wire.guarded_streams()
    # what is imported stays; and evidence comes in large numbers of objects that stay, so look for garbage seldom
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()
    try:
        return asyncio.run(run())
    except KeyboardInterrupt:
        return 130
    finally:
        log_output.finish()


def main(arguments: list[str] | None = None) -> int:
    """Run the server as a program.

    Returns
    -------
    int
        The exit status.
    """
    parser = argparse.ArgumentParser(prog="suspectra server", description="Serve an editor by LSP.")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--stdio", action="store_true", help="over standard input and output (the default)")
    ways.add_argument("--tcp", type=address, metavar="HOST:PORT", help="wait for the editor on a TCP port")
    ways.add_argument("--ws", type=address, metavar="HOST:PORT", help="wait for the editor on a WebSocket")
    ways.add_argument("--unix", type=Path, metavar="PATH", help="wait for the editor on a Unix socket")
    parser.add_argument("--trusted", action="store_true", help="let the client of a socket have tests run")
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="keep the token of --tcp or --ws in a file instead of printing it",
    )
    given = parser.parse_args(arguments)
    if given.token_file and not (given.tcp or given.ws):
        parser.error("--token-file goes with --tcp or --ws")
    if given.trusted and not (given.tcp or given.ws or given.unix):
        parser.error("--trusted goes with --tcp, --ws or --unix")
    try:
        return serve(tcp=given.tcp, ws=given.ws, unix=given.unix, trusted=given.trusted, token_path=given.token_file)
    except UsageError as error:
        _say(str(error))
        return 2
    except OSError as error:
        _say(f"can't listen: {error}")
        return 2


def address(text: str) -> tuple[str, int]:
    """A host and a port from ``HOST:PORT``, ``:PORT`` or ``PORT``; without a host, this machine alone.

    Raises
    ------
    ValueError
        When there is no port in it.

    Examples
    --------
    >>> address("9257"), address("[::1]:9257")
    (('127.0.0.1', 9257), ('::1', 9257))
    """
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{text!r} names no port")
    return host.strip("[]") or "127.0.0.1", int(port)


def _say(text: str) -> None:
    print(f"suspectra server: {text}", file=sys.stderr, flush=True)


def make_server(*, trusting: bool = True) -> SuspectraServer:
    """A server with all its features, and whether it takes its client's word that a workspace is trusted.

    Needs a running loop.
    """
    server = SuspectraServer(trusting=trusting)
    server.finished = asyncio.get_running_loop().create_future()
    _register_life(server)
    for part in (
        diagnostics,
        code_lens,
        hover,
        inlay_hints,
        symbols,
        code_actions,
        suspects,
        chain,
        test_results,
        command_line,
        commands,
    ):
        part.register(server)
    return server


def _register_life(server: SuspectraServer) -> None:
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
        for folder, path in filter(None, {server.folders.of(change.uri) for change in params.changes}):
            folder.evidence_changed() if path.startswith(".suspectra/") else folder.sources_changed()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        uri = params.text_document.uri
        if found := server.folders.of(uri):
            found[0].opened(found[1], server.document(uri))

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def edited(params: lsp.DidChangeTextDocumentParams) -> None:
        if found := server.folders.of(params.text_document.uri):
            found[0].edited(found[1])

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        if found := server.folders.of(params.text_document.uri):
            found[0].sources_changed()

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        if found := server.folders.of(params.text_document.uri):
            found[0].closed(found[1])
