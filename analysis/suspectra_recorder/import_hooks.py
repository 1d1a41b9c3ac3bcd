"""The hooks into Python's import system while a process is recorded."""

from __future__ import annotations

from suspectra_recorder.activity import Activity
from suspectra_recorder.children.merge import Imported
from suspectra_recorder.folders import cache_folder
from suspectra_recorder.instrumentation.cache import CodeCache
from suspectra_recorder.instrumentation.first_imports import FirstImports
from suspectra_recorder.instrumentation.imports import ImportHook
from suspectra_recorder.instrumentation.kept_results.cached_functions import CachedFunctions
from suspectra_recorder.instrumentation.library_references import os
from suspectra_recorder.instrumentation.monitoring import Monitor
from suspectra_recorder.instrumentation.standard_library import StandardLibrary
from suspectra_recorder.recorded_files import RecordedFiles


class Hooks:
    """The import hook and the first imports of a process; they may exist before its recorder."""

    def __init__(self, scope: RecordedFiles, *, counting: bool = False, monitoring: bool = False, activity: str = ""):
        with StandardLibrary():
            import suspectra_recorder.instrumentation.rewriting  # noqa: F401 - before a test has replaced what it needs

        self.cache = cache_folder(scope.root)  # the cache of instrumented code, empty for none
        cache = CodeCache(self.cache) if self.cache else None
        self.import_hook = ImportHook(scope, cache, counting, monitor=Monitor() if monitoring else None)
        self.imported: list[Imported] = []  # what first imports ran, as far as it is not written yet
        self.first_imports = FirstImports(
            self.import_hook, lambda first: self.imported.append((first.path, first.cells))
        )
        # functions of tests have caches, too
        self._cached = CachedFunctions(
            self.first_imports, lambda path: scope.contains(os.path.dirname(scope.real(path)))
        )
        self.activity = Activity(activity)  # what this process is doing
        # a crash during an import is reported with the file that was being imported
        self.first_imports.entered, self.first_imports.left = self.activity.importing, self.activity.end

    def install(self) -> None:
        """Start instrumenting."""
        self._cached.install()
        self.import_hook.install()
        self.first_imports.install()

    def close(self) -> None:
        """Stop instrumenting."""
        self._cached.uninstall()
        self.import_hook.uninstall()
        self.first_imports.uninstall()
        if self.import_hook.monitor is not None:
            self.import_hook.monitor.close()
