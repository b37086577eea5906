"""Content identity of custom algorithms: a hash of everything that decides how a class behaves.

The hash covers the class by value: bytecode, constants, defaults, closures, and the globals that its code names, at
any depth. It covers the bytes of the source files in the user's own tree, and the names and versions of installed
packages. Code that reads files, clocks, or other outside state has no such hash: its behavior can change while its
content does not.
"""

from __future__ import annotations

import builtins
import dis
import hashlib
import importlib.util
import site
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, cached_property
from inspect import get_annotations
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    UnionType,
    WrapperDescriptorType,
)
from typing import Any

from fullpipe._util.inputs import MOST_CODE_BYTES, FileError, digest, read_bytes
from fullpipe._util.plain import Table

__all__ = ["Identity", "file_digest", "identify", "is_installed"]

MOST_VALUES = 1_000_000
"""Values that a class may refer to before its identity counts as unknown."""

OUTSIDE_BUILTINS = frozenset({"open", "input", "eval", "exec", "__import__", "compile", "breakpoint", "globals"})
"""Builtin functions whose result depends on more than their arguments, or whose code is text."""

OUTSIDE_MODULES: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        (
            *("asyncio", "ctypes", "datetime", "fileinput", "ftplib", "glob", "http", "importlib", "io", "mmap"),
            *("multiprocessing", "os", "pathlib", "secrets", "shelve", "shutil", "socket", "sqlite3", "subprocess"),
            *("tempfile", "threading", "time", "urllib", "uuid"),
            # Modules in C that functions of these belong to, for example `os.urandom`.
            *("posix", "nt", "_io", "_socket", "_thread", "_sqlite3", "_ctypes", "_asyncio", "_posixsubprocess"),
        ),
        frozenset(),
    ),
    "random": frozenset({"Random"}),
    "sys": frozenset({"float_info", "maxsize", "byteorder", "stderr", "stdout", "version_info"}),
}
"""Modules that read outside state, and those of their names that do not."""

NUMPY_READERS = frozenset({"load", "loadtxt", "genfromtxt", "fromfile", "memmap"})
"""NumPy's functions that read files."""

NUMPY_SEEDED = frozenset({"default_rng", "Generator", "RandomState"})
"""NumPy's random generators that belong to their creator."""

SKIPPED = frozenset(
    {"__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__", "__static_attributes__"}
    | {"__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__abstractmethods__"}
    | {"_abc_impl", "__classcell__", "__hash__"}
)
"""Attributes of a class that do not decide its behavior, or that are hashed elsewhere."""


class UnknownContent(Exception):
    """A value whose content cannot be known, which the text names."""


@dataclass(frozen=True)
class Identity:
    """Content identity of a class.

    Attributes:
        digest: Hash of the content, 32 hexadecimal digits; None where it cannot be known.
        why: The reason where it cannot be known; empty otherwise.
        modules: Names of the user's own modules that the class uses.
    """

    digest: str | None
    why: str = ""
    modules: tuple[str, ...] = ()


def identify(kind: type, options: Table, files: dict[str, str]) -> Identity:
    """Content identity of a class and the options that it is declared with.

    Args:
        kind: The class.
        options: Plain values.
        files: Digests of source files by path, as they were when the class was declared; files that are met for the
            first time are added. Loaded code does not follow a file that changes later, so that its digest must not.
    """
    walk = Walk(files)
    try:
        walk.add_value(dict(options))
        walk.add_value(kind)
        walk.add_file_of(kind.__module__)
    except UnknownContent as error:
        return Identity(None, str(error), tuple(sorted(walk.modules)))
    except RecursionError:
        return Identity(None, "its values are nested too deeply", tuple(sorted(walk.modules)))
    return Identity(walk.digest.hexdigest()[:32], "", tuple(sorted(walk.modules)))


@dataclass
class Walk:
    """Walk over all values that a class refers to; each value is hashed once.

    Attributes:
        files: See `identify`.
        modules: Names of the user's own modules met.
    """

    files: dict[str, str]
    modules: set[str] = field(default_factory=set)
    digest: Any = field(default_factory=hashlib.sha256)
    _places: dict[int, int] = field(default_factory=dict)
    _alive: list[object] = field(default_factory=list)
    _values: int = 0

    def add_value(self, value: object) -> None:
        """Hashes a value of any type.

        Raises:
            UnknownContent: The content cannot be known.
        """
        self._values += 1
        if self._values > MOST_VALUES:
            raise UnknownContent(f"it refers to more than {MOST_VALUES:,} values")
        if value is None or type(value) in PLAIN:
            self._mark(type(value).__name__, value.hex() if type(value) is float else repr(value))
            return
        # Equal constants may or may not be one object; only values that can contain themselves are known by place.
        if not isinstance(value, tuple | frozenset | CodeType):
            if id(value) in self._places:
                self._mark("again", str(self._places[id(value)]))
                return
            self._places[id(value)] = len(self._places)
            self._alive.append(value)
        for types, add in self._rules:
            if isinstance(value, types):
                add(value)
                return
        self._add_other(value)

    def add_file_of(self, module_name: str) -> None:
        """Hashes the file of a module of the user's own and of those that it imports, and notes the module.

        Code can look up names that it does not mention (``getattr``), in its own module or in one that this imports.
        """
        module = sys.modules.get(module_name)
        if module is None or is_installed(module_name, module):
            return
        known = module_name in self.modules
        self.modules.add(module_name)
        file = getattr(module, "__file__", None)
        if file is None:
            return
        if file not in self.files:
            self.files[file] = file_digest(file)
        self._mark("file", self.files[file])
        if not known:
            for name in _imports_of_file(file, self.files[file], module.__package__ or ""):
                self.add_file_of(name)

    @cached_property
    def _rules(self) -> tuple[tuple[type | UnionType | tuple[type, ...], Callable[[Any], None]], ...]:
        return (
            (tuple | list, self._add_sequence),
            (dict | MappingProxyType, self._add_mapping),
            (set | frozenset, self._add_set),
            (ModuleType, self._add_module),
            (type, self._add_class),
            (Enum, lambda value: self._add_parts("enum", type(value), value.name)),
            (FunctionType, self._add_function),
            (CodeType, self._add_code),
            (CellType, self._add_cell),
            (MethodType, lambda value: self._add_parts("method", value.__func__, value.__self__)),
            ((staticmethod, classmethod), lambda value: self._add_parts(type(value).__name__, value.__func__)),
            (property, lambda value: self._add_parts("property", value.fget, value.fset, value.fdel)),
            ((MemberDescriptorType, GetSetDescriptorType), lambda value: self._mark("slot", value.__name__)),
            ((WrapperDescriptorType, MethodWrapperType), lambda value: self._mark("slot", value.__name__)),
            (BuiltinFunctionType, self._add_builtin),
        )

    def _mark(self, kind: str, text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        self.digest.update(f"{kind}:{len(data)}:".encode())
        self.digest.update(data)

    def _add_parts(self, kind: str, *parts: object) -> None:
        self._mark(kind, str(len(parts)))
        for part in parts:
            self.add_value(part)

    def _add_sequence(self, values: Any) -> None:
        self._add_parts(f"sequence {type(values).__name__}", *values)
        if type(values) not in (tuple, list):
            self.add_value(type(values))

    def _add_mapping(self, values: Any) -> None:
        # The order of a dictionary is part of its behavior.
        self._add_parts("mapping", *(part for pair in values.items() for part in pair))
        if type(values) not in (dict, MappingProxyType):
            self.add_value(type(values))

    def _add_set(self, values: Any) -> None:
        digests = []
        for value in values:
            part = Walk(self.files, self.modules)
            part.add_value(value)
            digests.append(part.digest.hexdigest())
        self._mark(type(values).__name__, " ".join(sorted(digests)))

    def _add_module(self, module: ModuleType) -> None:
        name = module.__name__
        if is_installed(name, module):
            self._mark("package", f"{name} {_version_of(name)}")
            return
        self._mark("module", name)
        self.add_file_of(name)

    def _add_class(self, kind: type) -> None:
        module = kind.__module__
        if is_installed(module, sys.modules.get(module)):
            self._check_outside(module, kind.__qualname__, frozenset({kind.__name__}))
            self._mark("installed", f"{module}.{kind.__qualname__} {_version_of(module)}")
            return
        self._mark("class", kind.__qualname__)
        self.add_file_of(module)
        self._add_parts("bases", type(kind), *kind.__bases__)
        # The order of the annotations is the order of the fields.
        self._mark("fields", " ".join(get_annotations(kind)))
        for name in sorted(vars(kind).keys() - SKIPPED):
            self._mark("attribute", name)
            self.add_value(vars(kind)[name])

    def _add_function(self, function: FunctionType) -> None:
        module = function.__module__ or ""
        if is_installed(module, sys.modules.get(module)):
            self._check_outside(module, function.__qualname__, frozenset({function.__name__}))
            self._mark("installed", f"{module}.{function.__qualname__} {_version_of(module)}")
            if not function.__closure__:
                return
        self._mark("function", function.__qualname__)
        self.add_file_of(module)
        closure = function.__closure__ or ()
        self._add_parts("parts", function.__defaults__, function.__kwdefaults__, function.__dict__, *closure)
        self.add_value(function.__code__)
        self._add_globals(function)

    def _add_globals(self, function: FunctionType) -> None:
        """Hashes the globals that a function's code names, and the attributes that it reads of modules."""
        names = frozenset(_names_of(function.__code__))
        for name in sorted(names):
            if name in function.__globals__:
                self._mark("global", name)
                self._add_global(function.__globals__[name], names)
            elif name in OUTSIDE_BUILTINS and hasattr(builtins, name):
                raise UnknownContent(f"{function.__qualname__} calls {name}")
        package = function.__globals__.get("__package__") or ""
        for name in _imports_of(function.__code__, package):
            self._add_import(name, names, function.__qualname__)

    def _add_global(self, value: object, names: frozenset[str]) -> None:
        self.add_value(value)
        if not isinstance(value, ModuleType):
            return
        self._check_outside(value.__name__, value.__name__, names)
        if is_installed(value.__name__, value):
            return
        for name in sorted(names & vars(value).keys()):
            self._mark("attribute", name)
            self._add_global(vars(value)[name], names)

    def _add_import(self, name: str, names: frozenset[str], where: str) -> None:
        """Hashes a module that a function imports when it runs."""
        module = sys.modules.get(name)
        if module is not None:
            self._add_global(module, names)
            return
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            spec = None
        if spec is None:
            raise UnknownContent(f"{where} imports {name}, which is not there")
        self._check_outside(name, name, names)
        if spec.origin is None or _is_installed_file(spec.origin):
            self._mark("package", f"{name} {_version_of(name)}")
            return
        # The file is read when the function runs, so that its present content counts.
        self._mark("module", f"{name} {file_digest(spec.origin)}")

    def _check_outside(self, module: str, called: str, names: frozenset[str]) -> None:
        """Refuses a module, or a function of it, that reads outside state."""
        top = module.partition(".")[0]
        if top == "numpy":
            if names & NUMPY_READERS or ("random" in names and not names & NUMPY_SEEDED):
                raise UnknownContent("it uses files or shared random numbers of NumPy")
            return
        if top in OUTSIDE_MODULES and not names & OUTSIDE_MODULES[top]:
            raise UnknownContent(f"it uses {called}, whose state is outside of it")

    def _add_code(self, code: CodeType) -> None:
        self._mark("code", code.co_code.hex())
        self._mark("table", getattr(code, "co_exceptiontable", b"").hex())
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        self._add_parts("counts", *counts)
        for names in (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
            self._mark("names", " ".join(names))
        self._add_parts("constants", *code.co_consts)

    def _add_cell(self, cell: CellType) -> None:
        try:
            content = cell.cell_contents
        except ValueError:
            self._mark("cell", "empty")
            return
        self._add_parts("cell", content)

    def _add_builtin(self, function: BuiltinFunctionType) -> None:
        owner = function.__self__
        if owner is not None and not isinstance(owner, ModuleType | type):
            self._add_parts("bound", function.__qualname__, owner)
            return
        module = function.__module__ or ""
        if function.__name__ in OUTSIDE_BUILTINS:
            raise UnknownContent(f"it calls {function.__name__}")
        self._check_outside(module, f"{module}.{function.__name__}", frozenset({function.__name__}))
        self._mark("builtin", f"{module}.{function.__qualname__} {_version_of(module)}")
        self.add_file_of(module)

    def _add_other(self, value: Any) -> None:
        """Hashes an object by the parts that a copy of it is made of."""
        kind = type(value)
        if (inner := getattr(value, "__wrapped__", None)) is not None:
            self._add_parts("wrapped", inner)
        if (python := getattr(value, "py_func", None)) is not None and kind.__module__.startswith("numba"):
            self._add_parts("compiled", python)
            return
        if kind.__module__.partition(".")[0] == "numpy" and hasattr(value, "tobytes") and hasattr(value, "dtype"):
            if value.dtype.hasobject:
                raise UnknownContent("it refers to a NumPy array of objects")
            self._mark("array", f"{value.dtype.str} {value.shape} {value.tobytes().hex()}")
            return
        try:
            parts = value.__reduce_ex__(4)
        except Exception as error:  # whatever a class does here, its content stays unknown
            raise UnknownContent(f"it refers to an object of {kind.__module__}.{kind.__qualname__}") from error
        if isinstance(parts, str):
            self._mark("name", f"{kind.__module__}.{parts}")
            return
        make, arguments, *rest = parts
        self._add_parts("object", make, arguments)
        state, items, pairs = [*rest, None, None, None][:3]
        self._add_parts("state", state, list(items or ()), [part for pair in pairs or () for part in pair])


PLAIN = (bool, int, float, complex, str, bytes)
"""Types whose values are hashed by their text."""


def file_digest(file: str) -> str:
    """Hash of a file's content; of a file that cannot be read, of its absence."""
    try:
        return digest(file)
    except FileError:
        return "absent"


def is_installed(name: str, module: ModuleType | None) -> bool:
    """Whether a module belongs to Python, to an installed package, or to this one, and not to the user's own tree."""
    top = name.partition(".")[0]
    if top in ("fullpipe", "builtins") or top in sys.stdlib_module_names:
        return True
    file = getattr(module, "__file__", None)
    return file is not None and _is_installed_file(file)


@cache
def _is_installed_file(file: str) -> bool:
    if file in ("built-in", "frozen"):
        return True
    path = Path(file).resolve()
    return any(path.is_relative_to(place) for place in _installed_places())


@cache
def _installed_places() -> tuple[Path, ...]:
    found = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    found |= {*site.getsitepackages(), site.getusersitepackages()}
    return tuple(Path(place).resolve() for place in found if place)


@cache
def _version_of(name: str) -> str:
    """Version of the package that a module belongs to; Python's own for its library."""
    top = name.partition(".")[0]
    if top == "fullpipe":  # a build has an identity of its own
        return ""
    if top in sys.stdlib_module_names or top in ("", "builtins"):
        return ".".join(map(str, sys.version_info[:3]))
    found = getattr(sys.modules.get(top), "__version__", None)
    if found is None:
        # Loaded where it is needed: it imports the email package, which takes longer than a short run.
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version(top)
        except PackageNotFoundError:
            found = ""
    return str(found)


def _codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes_in(constant)


def _names_of(code: CodeType) -> Iterable[str]:
    return (name for each in _codes_in(code) for name in each.co_names)


@cache
def _imports_of_file(file: str, _digest: str, package: str) -> tuple[str, ...]:
    """Names of modules that a file of this digest imports, and of objects that it imports from them.

    The answer stays when the file changes later, as the loaded code does.
    """
    try:
        code = compile(read_bytes(file, MOST_CODE_BYTES), file, "exec", dont_inherit=True)
    except (FileError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(sorted(set(_imports_of(code, package))))


def _imports_of(code: CodeType, package: str) -> Iterator[str]:
    """Full names of the modules that a function imports when it runs."""
    for each in _codes_in(code):
        level = 0
        before: list[object] = [None, None]
        for step in dis.get_instructions(each):
            if step.opname == "IMPORT_NAME":
                level = before[-2] if isinstance(before[-2], int) else 0
                name = str(step.argval)
                yield importlib.util.resolve_name("." * level + name, package) if level and package else name
            before.append(step.argval)
