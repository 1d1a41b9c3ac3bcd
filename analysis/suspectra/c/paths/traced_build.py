"""Building a CMake project a second time, so that its programs record their paths."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from suspectra.base.cancellation import Token
from suspectra.base.errors import EvidenceError, Problem
from suspectra.c.cmake_cache import bracketed, cache_entries, cache_script
from suspectra.processes.events import ProgramEnded
from suspectra.processes.runner import CommandToRun, run

RECORDER = Path(__file__).with_name("recorder.c")
"""What the compiled program calls."""

FLAGS = (
    "-O0",
    "-gdwarf-4",  # objdump 2.40 takes lines of headers in version 5 for lines of the file that includes them
    "-fno-omit-frame-pointer",
    "-fno-jump-tables",
    "-finstrument-functions",
    "-fsanitize-coverage=trace-pc,trace-cmp",
)
"""How gcc compiles; clang gets one more, so that it leaves no block out."""

_LAUNCHER = """\
#!/bin/sh
# compiles without coverage, whose counters would be blocks of their own, and with the flags that record paths
for word do
    shift
    case $word in
    --coverage | -fprofile-arcs | -ftest-coverage | -fprofile-instr-generate | -fcoverage-mapping) ;;
    *) set -- "$@" "$word" ;;
    esac
done
exec "$@" {flags}
"""

_LINKED = """\
# links each program with the recorder
add_link_options("$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:{recorder};-rdynamic;-pthread>")
set(theirs {theirs})
if(theirs)
  include("${{theirs}}")
endif()
"""

_SAYS_WHY = re.compile(r"undefined reference|(?<!collect2: )\b[Ee]rror\b")
_OWN = {"CMAKE_PROJECT_INCLUDE", "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"}
_CURE = "fix what it complains about, then try again"


class TracedBuild:
    """A second build of a CMake project.

    Its compilers, options and cache entries are those of the first one.
    """

    def __init__(self, build: Path, folder: Path, jobs: int = 2):
        self._first, self._own, self._jobs = build, folder, jobs
        self.folder = folder / "build"  # the folder of the second build

    @classmethod
    def name(cls, build: Path) -> str:
        """Name the folder for the second build of a first one.

        The same as long as the flags of the compiler are, so that only what was changed is compiled again.
        """
        # a build that was made with other flags keeps lines that are wrong
        made_of = b"\0".join([os.fsencode(build), *map(str.encode, FLAGS)])
        return f"paths-{hashlib.sha256(made_of).hexdigest()[:12]}"

    def make(self, token: Token) -> None:
        """Configure it and build it.

        Raises EvidenceError when the folder is not one of CMake, or the project does not build. Raises Cancelled when
        the token was cancelled.
        """
        entries = cache_entries(self._first)
        home = entries.pop("CMAKE_HOME_DIRECTORY")
        generator = entries.pop("CMAKE_GENERATOR", "")
        self._own.mkdir(parents=True, exist_ok=True)
        recorder, flags = self._compiled_recorder(entries, token)
        settings = self._settings(entries, recorder, flags)
        preload = self._own / "settings.cmake"
        if not preload.exists() or preload.read_text(encoding="utf-8") != settings:
            preload.write_text(settings, encoding="utf-8")
        configure = ["cmake", "-C", str(preload), "-S", home, "-B", str(self.folder)]
        self._run([*configure, *(["-G", generator] if generator else [])], token)
        self._run(["cmake", "--build", str(self.folder), "--parallel", str(self._jobs)], token)

    def _compiled_recorder(self, entries: Mapping[str, str], token: Token) -> tuple[Path, list[str]]:
        """The recorder, compiled by the project's compiler, and the flags for that compiler."""
        compiler = entries.get("CMAKE_C_COMPILER") or entries.get("CMAKE_CXX_COMPILER") or "cc"
        language = [] if entries.get("CMAKE_C_COMPILER") else ["-x", "c"]
        version = self._run([compiler, "--version"], token).stdout.decode("utf-8", "replace")
        flags = [f"{flag},no-prune" if "clang" in version and "trace-pc" in flag else flag for flag in FLAGS]
        digest = hashlib.sha256(RECORDER.read_bytes() + version.encode()).hexdigest()[:16]
        compiled = self._own / f"recorder-{digest}.o"
        if not compiled.exists():
            unfinished = compiled.with_suffix(".new")
            options = ["-O2", "-fno-omit-frame-pointer", "-fPIC", "-c"]
            self._run([compiler, *options, *language, str(RECORDER), "-o", str(unfinished)], token)
            os.replace(unfinished, compiled)
        return compiled, flags

    def _settings(self, entries: Mapping[str, str], recorder: Path, flags: Sequence[str]) -> str:
        """A script of CMake with all settings. The launcher adds flags behind those that the project sets itself."""
        launcher = self._own / "launcher"
        launcher.write_text(_LAUNCHER.format(flags=shlex.join(flags)), encoding="utf-8")
        launcher.chmod(0o700)
        # many projects set the flags of the linker anew, and so would lose what is added to them
        script = self._own / "recorder.cmake"
        theirs = entries.get("CMAKE_PROJECT_INCLUDE", "")
        script.write_text(_LINKED.format(recorder=recorder, theirs=bracketed(theirs)), encoding="utf-8")
        settings = {name: value for name, value in entries.items() if name not in _OWN}
        settings |= {"CMAKE_PROJECT_INCLUDE": str(script)}
        settings |= {f"CMAKE_{language}_COMPILER_LAUNCHER": str(launcher) for language in ("C", "CXX")}
        return cache_script(settings)

    def _run(self, command: Sequence[str], token: Token) -> ProgramEnded:
        cure = f"install it: apt-get install {command[0]}" if command[0] == "cmake" else "install the compiler"
        token.check()
        ended = run(CommandToRun(tuple(command), str(self._own), os.environ, guarded=True, cure=cure), token)
        token.check()  # it may have ended by itself meanwhile
        if ended.status:
            words = (ended.stderr or ended.stdout).decode("utf-8", "replace").splitlines()
            why = next((line.strip() for line in words if _SAYS_WHY.search(line)), words[-1] if words else "it failed")
            cause = f"the programs can't be built with the recorder of paths: {why}"
            raise EvidenceError(Problem(shlex.join(command[:3]), "", cause, _CURE))
        return ended
