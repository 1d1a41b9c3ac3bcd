"""Recording what one process runs, test by test.

Which data files a test opens is not recorded. An audit hook would see them, but it can't be removed, and runs for every
event in the user's process. It sees neither what C libraries open nor what a test gets from a fixture, so the list
would be incomplete without a sign of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from suspectra_recorder.children.merge import ChildProcessMerge
from suspectra_recorder.children.processes import CHILDREN, ChildrenOfTests
from suspectra_recorder.early_start import EarlyStart
from suspectra_recorder.errors import Problem
from suspectra_recorder.folders import RecordingError
from suspectra_recorder.import_hooks import Hooks
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.imports import bits
from suspectra_recorder.instrumentation.library_references import json, os, sys, time
from suspectra_recorder.instrumentation.loaded_file import LoadedFile
from suspectra_recorder.log.collection import CollectionError
from suspectra_recorder.log.frames import FrameKind, pack_rows, split_json, unpack_rows, with_json
from suspectra_recorder.log.history import WholeFiles
from suspectra_recorder.recorded_files import RecordedFiles
from suspectra_recorder.recorded_outcome import TestRecord
from suspectra_recorder.run_log import LogOfRun
from suspectra_recorder.settings import FOLDER
from suspectra_recorder.unrecorded_modules import imported_from_elsewhere, modules_before, reason

__builtins__ = library_references.builtins

Rows = tuple[list[int], bytes]
"""A harvest: the indices of the sources, and their cells as :meth:`ImportHook.harvest` returns them."""
Apart = tuple[Rows, int]
"""What ran before something that counts for no test alone, and the number of its children."""


class Recorder:
    """Records one process.

    Raises RecordingError when the workspace is not writable.
    """

    def __init__(
        self,
        scope: RecordedFiles,
        run: str,
        worker: str = "",  # the name of this process within the run, empty if it is the only one
        about: Mapping[str, object] | None = None,
        *,
        counting: bool = False,
        monitoring: bool = False,
        early: EarlyStart | None = None,
        later: bool = False,  # whether the log is opened only by `open_log`, in the process that runs the tests
        activity: str = "",  # a file in which the process notes what it is doing, unless an early start does so
    ):
        self.scope = scope  # the files to record
        self.plan = 0  # how many tests were about to run
        self.lost_tests = 0  # for which there was no room
        self.tests = 0
        self.errors: list[CollectionError] = []
        self._began = time.process_time()
        how = {"counts": counting, "recorder": "monitoring" if monitoring else "probes"}
        self.log = LogOfRun(scope.root, run, worker, {**how, **(about or {})}, later=later)
        self._collected: tuple[dict[str, frozenset[str]], frozenset[str]] | None = None
        self._child_merge: ChildProcessMerge | None = None
        self._early = early
        self._hooks = _hooks(scope, early, counting=counting, monitoring=monitoring, activity=activity)
        self.activity = self._hooks.activity
        self.hook, self.imports, self._imported = (
            self._hooks.import_hook,
            self._hooks.first_imports,
            self._hooks.imported,
        )
        self._import_rows: set[tuple[str, bytes]] = set()
        self._files_written = 0
        self._failures_written: set[str] = set()
        self._report_scope()

    def start(self, *, launched: bool = False) -> None:
        """Start instrumenting, and report modules that were imported before without probes."""
        # an early start has instrumented these already, or has failed to
        known = {file.path for file in self.hook.files} | set(self.hook.guard.failures)
        for module, path, name in modules_before(self.scope):
            if name not in known:
                known.add(name)
                why = reason(module, path, self._early, launched=launched, counting=self.hook.counting)
                self.problem(name, "", *why)
        self._hooks.install()

    def open_log(self) -> None:
        """Open the log, in a process that was forked from one that collected the tests; it has collected them too."""
        self.log.open()
        if self._collected is not None:
            self._write_collected(*self._collected)

    def record_children(self) -> None:
        """Record processes that tests start from now on."""
        settings = {
            "python": sys.version,
            "workspace": self.scope.root,
            "sources": self.scope.given,
            "include_tests": self.scope.include_tests,
            "patterns": self.scope.patterns,
            "cache": self._hooks.cache,
        }
        try:
            children = ChildrenOfTests(self.scope.root, settings, self.hook.counting)
            self._child_merge = ChildProcessMerge(self.hook, self.imports, children, self._imported.append)
        except (OSError, RecordingError) as error:
            cause = f"processes that tests start are not recorded: {getattr(error, 'strerror', None) or error}"
            self.problem(f"{FOLDER}/{CHILDREN}", "", cause, "make the workspace writable")
            return
        self._child_merge.start(self._forked)

    def _forked(self) -> None:
        """Stop recording in a forked process."""
        self.log.close()
        self._child_merge = None

    def stop(self) -> None:
        """Write the remaining records and close the log."""
        self.outside(at_the_end=True)
        for file, why in imported_from_elsewhere(self.scope):
            self.problem(file, "", *why)
        for path, functions in self.hook.readers.left_alone.items():
            self._report_left_alone(path, functions)
        if self._child_merge is not None:
            if failure := self._child_merge.children.failure:
                cause = f"a process that a test started could not record itself: {failure}"
                cure = "if what it executes matters, let it open more files, or free disk space"
                self.problem(f"{FOLDER}/{CHILDREN}", "", cause, cure)
            self._child_merge.stop()
        self._hooks.close()
        self.log.close()
        self.log.report_failure()

    def outside(self, *, at_the_end: bool = False) -> None:
        """Record what ran since the last harvest as code outside tests."""
        if self._child_merge is not None:
            # adds to the cells, which are harvested next
            self._child_merge.outside(everything=at_the_end)
        touched, bits = self.hook.harvest()
        # before the rows, which name files by their numbers in the log
        self._write_files()
        if touched:
            self.log.write(FrameKind.OUTSIDE, pack_rows(touched, bits))
        self._write_imports()
        if self._child_merge is not None and self.log.is_open:
            for at in self._child_merge.late(everything=at_the_end):
                self._child_merge.moved(at, self._complete(at))

    def begin(self) -> None:
        """Begin a test. Code that runs from now on belongs to it, except first imports."""
        self.outside()
        # before the first test, all that runs is outside of tests anyway
        self.imports.apart = True
        if self._child_merge is not None:
            self._child_merge.begin()
        self._began = time.process_time()

    def begin_apart(self) -> Apart:
        """Begin what counts for no test alone: the setup or teardown of something that several tests use.

        What ran before, and the number of its children, for the call that ends it.
        """
        number = self._child_merge.begin_apart() if self._child_merge is not None else 0
        return self.hook.harvest(), number

    def end_setup(self, began: Apart, *, always: bool = False) -> str:
        """End a setup and record what it ran, for the tests that use it.

        Its name in the recording; empty if nothing ran, unless it is to have one always.
        """
        rows = self._end_apart(began)
        name = self._share(rows, setup=True) if rows[0] or always else ""
        self.hook.mark(*began[0])
        return name

    def end_teardown(self, began: Apart, name: str) -> Rows:
        """End the teardown of something that was set up under a name, and return what it ran.

        It counts for no test, but a change of it can affect those that use what was set up.
        """
        rows = self._end_apart(began)
        if rows[0] and name:
            self._share(rows, name)
        self.hook.mark(*began[0])
        return rows

    def _end_apart(self, began: Apart) -> Rows:
        if self._child_merge is not None:
            self._child_merge.end_apart(began[1])
        return self.hook.harvest()

    def restart_attempt(self) -> None:
        """Drop what the attempt ran; what it set up for several tests is not part of it."""
        self.hook.harvest()
        if self._child_merge is not None:
            self._child_merge.restart_attempt()

    def discard(self) -> None:
        """Drop what ran since the last harvest, because its test did not end."""
        self.hook.harvest()
        if self._child_merge is not None:
            self._child_merge.discard()

    def test(self, record: TestRecord, files: Iterable[int] = ()) -> None:
        """Record a test, with what ran since the last harvest."""
        head = {**record.head(self.log.now()), "cpu": round(time.process_time() - self._began, 6)}
        if self._child_merge is not None:
            self._child_merge.end()
        rows = self._harvested([*files, *self._write_imports()])
        if self._child_merge is not None:
            # before the record is written, since it begins at the present end of the log
            self._child_merge.written(self.log.size)
        if self.log.write(FrameKind.TEST, with_json(head, rows)):
            self.tests += 1
        elif self.log.stopped:
            self.lost_tests += 1

    def lost(self, record: TestRecord) -> None:
        """Record a test without rows, because its process died."""
        self.log.write(FrameKind.TEST, with_json(record.head(self.log.now()), pack_rows([], b"")))

    def collected(self, files: Mapping[str, Iterable[str]], tried: Iterable[str]) -> None:
        """Record which files were collected completely, with their tests. Other recorded tests of these files are
        dropped.

        Older collection errors are dropped too, if this run tried to collect the same nodes.
        """
        self._collected = {file: frozenset(tests) for file, tests in files.items()}, frozenset(tried)
        self._write_collected(*self._collected)

    def _write_collected(self, names: dict[str, frozenset[str]], tried: frozenset[str]) -> None:
        self.log.write(FrameKind.SCOPE, WholeFiles(self.log.now(), names, tried).payload())

    def planned(self, tests: int) -> None:
        """Record how many tests are about to run, so that it is known if they do not."""
        self.plan = tests
        self.log.write(FrameKind.PLAN, json.dumps({"tests": tests}).encode())

    def ended(self) -> None:
        """Record that the run ended by itself, and was not cut off."""
        self.log.write(FrameKind.END, json.dumps({"ended": True}).encode())

    def not_collected(self, error: CollectionError) -> None:
        """Record a collection error."""
        self.log.write(FrameKind.ERROR, json.dumps(replace(error, time=self.log.now()).as_dict()).encode())
        self.errors.append(error)

    def file_without_probes(self, path: str, digest: str, source_map: bytes) -> int:
        """Add a file without probes on which tests depend."""
        return self.hook.add(LoadedFile(path, digest, [], source_map, traced=False))

    def share(self, passed: Mapping[int, int]) -> str:
        """Record rows that a test shares with others.

        Its name in the recording; empty if nothing ran.
        """
        return self._share(self._bits(passed)) if passed else ""

    def _share(self, rows: Rows, name: str = "", *, setup: bool = False) -> str:
        name = name or os.urandom(8).hex()
        self._write_files()
        head = {"name": name, "time": self.log.now(), **({"setup": True} if setup else {})}
        self.log.write(FrameKind.SHARED, with_json(head, pack_rows(*rows)))
        return name

    def _bits(self, passed: Mapping[int, int]) -> Rows:
        parts = [bits.to_bytes(len(self.hook.files[n].cells) // 8, "big") for n, bits in passed.items()]
        return list(passed), b"".join(parts)

    def _write_imports(self) -> list[int]:
        """Record what first imports ran since the last call; it belongs to no test."""
        if not self._imported:
            return []
        self._write_files()
        imported, self._imported[:] = self._imported[:], []
        numbers = {file: number for number, file in enumerate(self.hook.files)}
        # modules themselves, on which the test depends that imported them
        own: dict[int, None] = {}
        for path, cells in imported:
            module = self.scope.name(path) or ""
            passed = {numbers[file]: bits(there) for file, there in cells.items() if any(there)}
            own.update({numbers[file]: None for file in cells if file.path == module})
            rows = pack_rows(*self._bits(dict(sorted(passed.items()))))
            if passed and (module, rows) not in self._import_rows:  # each child imports the same
                self._import_rows.add((module, rows))
                head = {"name": "", "time": self.log.now(), "module": module}
                self.log.write(FrameKind.SHARED, with_json(head, rows))
        return list(own)

    def _harvested(self, files: Iterable[int]) -> bytes:
        """The rows of what ran, and of further files on which the test depends, even if none of their code ran."""
        touched, bits = self.hook.harvest()
        self._write_files()
        # counts, where there are any, follow the bits of all files: those of further files go in between
        size = sum(len(self.hook.files[n].cells) // 8 for n in touched)
        more = list(dict.fromkeys(n for n in files if n not in touched))
        none = bytes(sum(len(self.hook.files[n].cells) // 8 for n in more))
        return pack_rows([*touched, *more], bits[:size] + none + bits[size:])

    def problem(self, file: str, place: str, cause: str, cure: str) -> None:
        """Record a problem."""
        self.log.problem(json.dumps(Problem(file, place, cause, cure).as_dict()).encode())

    def _complete(self, at: int) -> int:
        """Write a test again, with the cells of children that ended after it; return the new position."""
        # records are never changed in place: a newer one of the same test counts instead
        head, rows = split_json(self.log.payload(at))
        touched, bits = unpack_rows(rows)
        self.hook.mark(touched, bits)
        rows = self._harvested([*touched, *self._write_imports()])
        after = self.log.size
        self.log.write(FrameKind.TEST, with_json({**head, "time": self.log.now()}, rows))
        return after

    def _write_files(self) -> None:
        """Write the sources loaded since the last call. It is not done while loading, in the middle of the user's
        code.
        """
        files = self.hook.files
        # the list may grow meanwhile, when another thread imports
        while self._files_written < len(files):
            self._files_written += 1
            self._loaded(files[self._files_written - 1])
        for name, cause in list(self.hook.guard.failures.items()):
            if name not in self._failures_written:
                self._failures_written.add(name)
                self.problem(
                    name,
                    "",
                    f"could not be instrumented: {cause}",
                    "report it; the file ran as it is, and is missing from the ranking",
                )

        for name, tool in list(self.hook.trees.unknown.items()):
            if name not in self._failures_written:
                self._failures_written.add(name)
                cause = f"{tool} compiles functions of it in another form, of which nothing is recorded"
                counts = "record without counts, or " if self.hook.counting else ""
                self.problem(name, "", cause, f"{counts}switch {tool} off while the tests are recorded")

    @property
    def has_suspects(self) -> bool:
        """Whether statements were recorded that are not test code."""
        root, is_test = self.scope.root, self.scope.is_test_code
        traced = (file.path for file in self.hook.files if file.traced)
        return any(self.scope.include_tests or not is_test(os.path.join(root, path)) for path in traced)

    def _report_left_alone(self, path: str, functions: Mapping[str, str]) -> None:
        tools = " and ".join(sorted(set(functions.values())))
        names = ", ".join(sorted(functions))
        cause = (
            f"{tools} reads the bytecode of {names}; there nothing is recorded, and statements count as not executed"
        )
        self.problem(self.scope.name(path) or path, "", cause, f"switch {tools} off while the tests are recorded")

    def _loaded(self, file: LoadedFile) -> None:
        path = os.path.join(self.scope.root, *file.path.split("/"))
        head = {
            "path": file.path,
            "digest": file.digest,
            "cells": len(file.cells),
            "is_test": self.scope.is_test_code(path),
            "traced": file.traced,
            "modified": _modified(path),
        }
        self.log.write(FrameKind.FILE, with_json(head, file.map))

    def _report_scope(self) -> None:
        for source in self.scope.missing:
            self.problem(
                source,
                "",
                "is asked for as a source, but is neither a folder nor an importable package",
                "correct suspectra_source or --source",
            )
        for folder in self.scope.outside:
            self.problem(
                folder,
                "",
                "is asked for as a source, but lies outside the workspace",
                "choose a workspace that contains it",
            )


def _modified(path: str) -> int:
    """When a file was written, in nanoseconds; 0 if that is not known."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _hooks(scope: RecordedFiles, early: EarlyStart | None, *, counting: bool, monitoring: bool, activity: str) -> Hooks:
    """The hooks of an early start if they fit, else new ones."""
    if early is None:
        return Hooks(scope, counting=counting, monitoring=monitoring, activity=activity)
    previous = early.hooks.import_hook
    if previous.counting == counting and (previous.monitor is not None) == monitoring:
        return early.hand_over(scope)
    early.close()
    return Hooks(scope, counting=counting, monitoring=monitoring, activity=activity)
