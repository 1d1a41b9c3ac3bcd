"""A second build of a CMake project."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from suspectra.base.cancellation import Token
from suspectra.c.cmake_cache import bracketed, cache_entries, cache_script
from suspectra.c.paths.traced_build import COVERAGE, LINKED_WITH, TracedBuild
from suspectra.c.recording.suite import CSuite
from suspectra.c.recording.suites import ctest_suite
from suspectra.c.recording.test_programs import divided

_LAUNCHER = """\
#!/bin/sh
# compiles without coverage, whose counters would be blocks of their own, and with the flags that record paths
for word do
    shift
    case $word in
    {coverage}) ;;
    *) set -- "$@" "$word" ;;
    esac
done
exec "$@" {flags}
"""

_LINKED = """\
# links each program with the recorder
add_link_options("$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:{recorder};{options}>")
set(theirs {theirs})
if(theirs)
  include("${{theirs}}")
endif()
"""

_OWN = {"CMAKE_PROJECT_INCLUDE", "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"}


class TracedCMakeBuild(TracedBuild):
    """A second build with the compilers, options and cache entries of the first one."""

    def make(self, token: Token) -> None:
        """Configure it and build it. Raises EvidenceError when it does not say where its sources are, too."""
        entries = cache_entries(self.first)
        home = entries.pop("CMAKE_HOME_DIRECTORY")
        generator = entries.pop("CMAKE_GENERATOR", "")
        self.own.mkdir(parents=True, exist_ok=True)
        compiler = entries.get("CMAKE_C_COMPILER") or entries.get("CMAKE_CXX_COMPILER") or "cc"
        recorder, flags = self.compiled_recorder([compiler], token, plus=not entries.get("CMAKE_C_COMPILER"))
        settings = self._settings(entries, recorder, flags)
        preload = self.own / "settings.cmake"
        if not preload.exists() or preload.read_text(encoding="utf-8") != settings:
            preload.write_text(settings, encoding="utf-8")
        configure = ["cmake", "-C", str(preload), "-S", home, "-B", str(self.folder)]
        self.run([*configure, *(["-G", generator] if generator else [])], token)
        targets = ["--target", *self.targets] if self.targets else []
        self.run(["cmake", "--build", str(self.folder), "--parallel", str(self.jobs), *targets], token)

    def suite(self, workspace: Path) -> CSuite:
        """List the tests of CTest."""
        return divided(ctest_suite(workspace, self.folder), workspace)

    def _settings(self, entries: Mapping[str, str], recorder: Path, flags: Sequence[str]) -> str:
        """A script of CMake with all settings. The launcher adds flags behind those that the project sets itself."""
        launcher = self.own / "launcher"
        launcher.write_text(_LAUNCHER.format(coverage=COVERAGE, flags=shlex.join(flags)), encoding="utf-8")
        launcher.chmod(0o700)
        # many projects set the flags of the linker anew, and so would lose what is added to them
        script = self.own / "recorder.cmake"
        theirs = entries.get("CMAKE_PROJECT_INCLUDE", "")
        script.write_text(
            _LINKED.format(recorder=recorder, options=";".join(LINKED_WITH), theirs=bracketed(theirs)), encoding="utf-8"
        )
        settings = {name: value for name, value in entries.items() if name not in _OWN}
        settings |= {"CMAKE_PROJECT_INCLUDE": str(script)}
        settings |= {f"CMAKE_{language}_COMPILER_LAUNCHER": str(launcher) for language in ("C", "CXX")}
        return cache_script(settings)
