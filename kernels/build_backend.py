"""The build backend: setuptools, plus C that cffi emits from the marked text of the headers.

What it adds to `setuptools.build_meta`, for the extensions declared in pyproject.toml:

* `sources` and `depends` may be globs;
* an extension whose headers hold `/* cdef */ ... /* end cdef */` is a cffi module: that text is its only declaration;
* a source is compiled again only when it, a header it includes, or its command has changed;
* `SMPY_CHECK=1` in the environment builds the debug kernel, whose structures check their invariants;
* nothing is written into the source tree, except the compiled modules of an editable install and `build/` beside them.

`python kernels/build_backend.py` brings the compiled modules of an editable install up to date.
"""

from __future__ import annotations

import contextlib
import fcntl
import filecmp
import functools
import importlib.util
import io
import os
import re
import shlex
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.extension import Extension

ROOT = Path(__file__).resolve().parent.parent
MARKED = re.compile(r"/\* cdef \*/(.*?)/\* end cdef \*/", re.DOTALL)
INCLUDED = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
CHECK_FLAGS = ("-DSMPY_CHECK", "-UNDEBUG", "-O1", "-g")


# ---- the hooks of PEP 517 and 660 ----


def _leaving_no_trace(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Runs `hook` of setuptools with its `build/` and egg-info folders outside the source tree."""

    @functools.wraps(hook)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        before = os.environ.get("DIST_EXTRA_CONFIG")
        with tempfile.TemporaryDirectory(prefix="smpy-build-") as folder:
            config = Path(folder, "setup.cfg")
            config.write_text(f"[build]\nbuild_base = {folder}\n[egg_info]\negg_base = {folder}\n", encoding="utf-8")
            os.environ["DIST_EXTRA_CONFIG"] = str(config)
            try:
                return hook(*args, **kwargs)
            finally:
                del os.environ["DIST_EXTRA_CONFIG"]
                if before is not None:
                    os.environ["DIST_EXTRA_CONFIG"] = before

    return wrapped


get_requires_for_build_wheel = _leaving_no_trace(build_meta.get_requires_for_build_wheel)
get_requires_for_build_editable = _leaving_no_trace(build_meta.get_requires_for_build_editable)
get_requires_for_build_sdist = _leaving_no_trace(build_meta.get_requires_for_build_sdist)
prepare_metadata_for_build_wheel = _leaving_no_trace(build_meta.prepare_metadata_for_build_wheel)
prepare_metadata_for_build_editable = _leaving_no_trace(build_meta.prepare_metadata_for_build_editable)
build_wheel = _leaving_no_trace(build_meta.build_wheel)
build_editable = _leaving_no_trace(build_meta.build_editable)
build_sdist = _leaving_no_trace(build_meta.build_sdist)


# ---- the commands ----


class BuildKernels(build_ext):
    """Compiles the extensions; cffi emits one source of those whose headers are marked."""

    def finalize_options(self) -> None:
        super().finalize_options()
        for ext in self.extensions:
            ext.sources = _expand(ext.sources)
            ext.depends = _expand(ext.depends)
        if self.editable_mode:  # objects of an editable install are kept, so that the next build is short
            self.build_temp = f"build/temp.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"

    def run(self) -> None:
        """Each extension takes its place before the next is compiled: one that fails holds back no other."""
        extensions, compiler = self.extensions, self.compiler
        for ext in extensions:
            self.extensions, self.compiler = [ext], compiler
            super().run()
        self.extensions = extensions

    def build_extension(self, ext: Extension) -> None:
        args = list(ext.extra_compile_args)
        if os.environ.get("SMPY_CHECK", "0") not in ("", "0"):
            args += CHECK_FLAGS
        work = [(source, args) for source in ext.sources]
        emitted = Path(self.build_temp, f"{ext.name.rpartition('.')[2]}.c")
        if _emit_cffi_module(ext.name, [Path(name) for name in ext.depends], emitted):
            work.append((str(emitted), [*args, "-w"]))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(lambda source_and_args: self._compiled(ext, *source_and_args), work))
        self._linked(ext, objects)

    def _compiled(self, ext: Extension, source: str, args: list[str]) -> str:
        """The object file of `source`."""
        (name,) = self.compiler.object_filenames([source], output_dir=self.build_temp)
        target = Path(name)
        listed = target.with_suffix(".d")
        # Python's own headers and greenlet's are not held to our warnings; where they are found makes no difference
        system = [f"-isystem{folder}" for folder in (sysconfig.get_path("include"), _folder_of("greenlet"))]
        command = [*self.compiler.compiler_so, *ext.include_dirs, *args]
        with _made_by(target, command, target.with_suffix(".command"), lambda: _listed(listed)) as is_stale:
            if is_stale:
                print("compiling", source)
                self.compiler.compile(
                    [source],
                    output_dir=self.build_temp,
                    include_dirs=ext.include_dirs,
                    macros=ext.define_macros,
                    extra_postargs=[*args, *system, "-MMD", "-MF", str(listed)],
                )
        return name

    def _linked(self, ext: Extension, objects: list[str]) -> None:
        target = self.get_ext_fullpath(ext.name)
        args = [*self.compiler.linker_so, *objects, *ext.libraries, *ext.extra_link_args]
        record = Path(self.build_temp, f"{ext.name}.command")
        with _made_by(Path(target), args, record, lambda: [Path(name) for name in objects]) as is_stale:
            if is_stale:
                self.compiler.link_shared_object(
                    objects,
                    target,
                    libraries=self.get_libraries(ext),
                    extra_postargs=ext.extra_link_args,
                    build_temp=self.build_temp,
                )

    def copy_file(self, infile: str, outfile: str, *args: Any, **kwargs: Any) -> tuple[str, bool]:
        """A compiled module goes in its place at once, and only if it differs: programs may be using it."""
        if Path(outfile).is_file() and filecmp.cmp(infile, outfile, shallow=False):
            return outfile, False
        super().copy_file(infile, f"{outfile}.new", *args, **kwargs)
        Path(f"{outfile}.new").replace(outfile)
        return outfile, True


class SourceArchive(sdist):
    """Adds to the archive what a clone has: the build backend, the tests and what they run."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        folders = (f"{name}/**/*" for name in ("kernels", "apps", "calibration", "docs", "tests"))
        names = _expand(("Makefile", "*.md", "CITATION.cff", *folders))
        wanted = [name for name in names if Path(name).is_file() and "__pycache__" not in name]
        super().make_release_tree(base_dir, sorted({*files, *wanted}))


# ---- what cffi is told ----


def _emit_cffi_module(name: str, headers: list[Path], target: Path) -> bool:
    """Writes the C of a cffi module of the headers' marked text; False when no header is marked."""
    marked = {header: "\n".join(MARKED.findall(header.read_text(encoding="utf-8"))) for header in headers}
    ordered = [header for header in _by_dependency(headers) if marked[header].strip()]
    if not ordered:
        return False
    from cffi import FFI

    ffi = FFI()
    for header in ordered:
        ffi.cdef(marked[header])
    ffi.set_source(name, "".join(f'#include "{header.name}"\n' for header in ordered))
    target.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.redirect_stdout(io.StringIO()):
        ffi.emit_c_code(str(target))  # leaves the file alone when its text has not changed
    return True


def _by_dependency(headers: list[Path]) -> list[Path]:
    """Every header after those it includes, otherwise by name."""
    by_name = {header.name: header for header in sorted(headers)}
    ordered: dict[Path, None] = {}

    def add(header: Path) -> None:
        for name in INCLUDED.findall(header.read_text(encoding="utf-8")):
            if name in by_name and by_name[name] not in ordered:
                add(by_name[name])
        ordered.setdefault(header)

    for header in by_name.values():
        add(header)
    return list(ordered)


# ---- files ----


def _expand(patterns: list[str] | tuple[str, ...]) -> list[str]:
    return sorted({str(path.relative_to(ROOT)) for pattern in patterns for path in ROOT.glob(pattern)})


@contextlib.contextmanager
def _made_by(target: Path, command: list[str], record: Path, needed: Callable[[], list[Path]]) -> Iterator[bool]:
    """Is `target` missing, older than what it needs, or made by another command than recorded? The body makes it."""
    text, started_ns = shlex.join(command), time.time_ns()
    made_ns = target.stat().st_mtime_ns if target.exists() else 0
    is_current = (
        made_ns > 0
        and record.exists()
        and record.read_text(encoding="utf-8") == text
        and all(path.exists() and path.stat().st_mtime_ns < made_ns for path in needed())
    )
    if is_current:
        yield False
        return
    record.unlink(missing_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    yield True
    os.utime(target, ns=(started_ns, started_ns))  # a source saved while it was compiled is newer
    record.write_text(text, encoding="utf-8")


def _listed(dependencies: Path) -> list[Path]:
    """The files named in what `gcc -MMD` wrote."""
    _, _, names = dependencies.read_text(encoding="utf-8").replace("\\\n", " ").partition(": ")
    return [Path(name) for name in shlex.split(names)]


def _folder_of(package: str) -> str:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package} is needed to build smpy: it is among the build requirements")
    return str(Path(spec.origin).parent)


def main() -> None:
    """Compiles in place: what an editable install did, for what has changed since."""
    from setuptools import setup

    warnings.filterwarnings("ignore", message=".*tool.setuptools.ext-modules.*")  # "experimental" since setuptools 74
    os.chdir(ROOT)
    Path("build").mkdir(exist_ok=True)
    with Path("build", "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two shells share the objects
        setup(script_args=["--quiet", "build_ext", "--inplace"])


if __name__ == "__main__":
    main()
