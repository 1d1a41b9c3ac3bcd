"""Recording in a process that a test started."""

from __future__ import annotations

import builtins
from _frozen_importlib_external import SourceFileLoader
from types import CodeType

from suspectra_recorder.children.child_log import ChildLog, current_number, report_failure
from suspectra_recorder.children.processes import SETTINGS
from suspectra_recorder.instrumentation import library_references
from suspectra_recorder.instrumentation.cache import CodeCache
from suspectra_recorder.instrumentation.first_imports import FirstImports
from suspectra_recorder.instrumentation.imports import ImportHook
from suspectra_recorder.instrumentation.library_references import json, os, sys
from suspectra_recorder.recorded_files import RecordedFiles

__builtins__ = library_references.builtins

_hook: ImportHook | None = None


def attach(folder: str, number: int) -> None:
    """Record this process for the test that started it, unless the run is over.

    Another interpreter than that of the tests is not recorded, as its code may have other branches.
    """
    global _hook
    try:
        with open(os.path.join(folder, SETTINGS), encoding="utf-8") as stream:
            settings = json.load(stream)
        if settings["python"] != sys.version:
            return
        log = ChildLog(folder, _number(folder, number), settings["counting"])
    except OSError as error:
        report_failure(folder, error)
        return
    scope = RecordedFiles(
        settings["workspace"],
        settings["sources"],
        include_tests=settings["include_tests"],
        patterns=settings["patterns"],
    )
    cache = CodeCache(settings["cache"]) if settings["cache"] else None
    _hook = ImportHook(scope, cache, counting=settings["counting"], cells=log.take)
    _hook.install()
    imports = FirstImports(_hook, log.imported, log.room)
    imports.apart = True
    imports.install()
    follow_forks(_hook, imports, log)


def follow_forks(hook: ImportHook, imports: FirstImports, log: ChildLog) -> None:
    """Give each process that is forked from this one its own cells."""

    def forked() -> None:
        nonlocal log
        # the file belongs to the process that this one was forked from
        log.close()
        try:
            log = ChildLog(log.folder, _number(log.folder, log.number), hook.counting)
        except OSError as error:  # the run may be over
            report_failure(log.folder, error)
            hook.uninstall()
            return
        hook.move(log.take)
        imports.move(log.imported, log.room)

    os.register_at_fork(after_in_child=forked)


def _number(folder: str, number: int) -> int:
    """The number of the test to record for; a fork server outlives the test that started it."""
    serves = any("multiprocessing.forkserver" in word for word in sys.orig_argv)
    return current_number(folder) if serves else number


def record_script() -> None:
    """Record the script that this interpreter is about to run, which no loader loads.

    Python announces it by an audit event. The script is then run in that event's hook, with the same globals, and the
    interpreter exits as it would after the script.
    """
    hook = _hook
    if hook is None:
        return

    def audit(event: str, arguments: tuple[str, ...]) -> None:
        nonlocal hook
        if event == "cpython.run_file" and hook is not None:
            path, files, hook = arguments[0], hook, None
            code = _script_code(files, path)
            if code is not None:
                _run_script(code, path)

    # else Python does not trace what a hook runs, and the script runs inside of this one
    audit.__cantrace__ = True  # type: ignore[attr-defined]
    sys.addaudithook(audit)


def _script_code(hook: ImportHook, path: str) -> CodeType | None:
    name = hook.scope(path)
    if name is None:
        return None
    try:
        with open(path, "rb") as stream:
            source = stream.read()
    except OSError:
        return None  # Python reports the error
    return hook.code(path, name, source)


def _run_script(code: CodeType, path: str) -> None:
    main = sys.modules["__main__"].__dict__
    main.update(__file__=path, __cached__=None, __loader__=SourceFileLoader("__main__", path))
    # otherwise `exec` would set those of this module, which are copies
    main.setdefault("__builtins__", builtins)
    try:
        exec(code, main)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        # show only the script's own part of the traceback
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        sys.excepthook(type(error), error, error.__traceback__)
        raise SystemExit(1) from None
    raise SystemExit(0)
