"""Content identity of single values: objects, bound functions, packages, and imports inside functions."""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from conftest import imports_from
from fullpipe.custom import identity
from fullpipe.custom.identity import Identity, UnknownContent, Walk, file_digest, identify


def hash_of(value: object) -> str:
    """Hash of one value alone."""
    walk = Walk({})
    walk.add_value(value)
    return str(walk.digest.hexdigest())


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that Python imports from."""
    with imports_from(tmp_path):
        yield tmp_path


def imported_class(folder: Path, module: str, text: str) -> type:
    """The class ``Own`` of a module of a folder, which is loaded from its present file."""
    path = folder / (module.replace(".", "/") + ".py")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    importlib.invalidate_caches()
    for name in [name for name in sys.modules if name.partition(".")[0] == module.partition(".")[0]]:
        del sys.modules[name]
    kind = importlib.import_module(module).Own
    assert isinstance(kind, type)
    return kind


PAIRS: list[tuple[object, object]] = [
    (random.Random(1).random, random.Random(2).random),
    ([1].append, [2].append),
    (np.random.default_rng(1), np.random.default_rng(2)),
    (np.float64(1), np.float64(2)),
    (np.array([[1, 2]]), np.array([[1], [2]])),
    (np.array([1], np.int32), np.array([1], np.uint32)),
    (0.1, 0.1 + 2**-55),
    (1, True),
    ("1", b"1"),
    ((1, 2), [1, 2]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (frozenset({1}), {1}),
    (SimpleNamespace(x=1), SimpleNamespace(x=2)),
    (staticmethod(len), classmethod(len)),  # type: ignore[arg-type]
    (property(len), property(None, len)),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_different_values_have_different_hashes(number: int) -> None:
    one, other = PAIRS[number]
    assert hash_of(one) != hash_of(other)


def test_objects_of_numba_are_known_by_their_python_function() -> None:
    class Compiled:
        def __init__(self, function: Any) -> None:
            self.py_func = function

        def __reduce_ex__(self, _protocol: Any) -> Any:
            raise TypeError("no copies")

    Compiled.__module__ = "numba.core"
    assert hash_of(Compiled(lambda x: x + 1)) != hash_of(Compiled(lambda x: x + 2))
    Compiled.__module__ = "other.core"
    with pytest.raises(UnknownContent, match=r"an object of other\.core\.\S*Compiled"):
        hash_of(Compiled(lambda x: x + 1))
    Compiled.__module__ = "numba.core"
    with pytest.raises(UnknownContent, match=r"an object of numba\.core\.\S*Compiled"):
        hash_of(Compiled(None))


def test_array_of_objects_has_no_known_content() -> None:
    with pytest.raises(UnknownContent, match="a NumPy array of objects"):
        hash_of(np.array([object()]))


def test_values_are_counted_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of three numbers is four values."""
    monkeypatch.setattr(identity, "MOST_VALUES", 4)
    assert hash_of([1, 2, 3])
    with pytest.raises(UnknownContent, match="more than 4 values"):
        hash_of([1, 2, 3, 4])


def test_values_nested_too_deeply_have_no_known_content() -> None:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    own = type("Own", (), {"nested": nested, "__module__": "own"})
    found = identify(own, {}, {})
    assert (found.digest, found.why) == (None, "its values are nested too deeply")


def test_identity_is_a_value() -> None:
    assert {Identity("a"): 1}[Identity("a")] == 1


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from time import monotonic", "monotonic()"),
        ("from os import urandom", "urandom(1)"),
        ("from os import stat", "stat('x')"),
        ("from socket import gethostname", "gethostname()"),
        ("import time as t", "t"),
    ],
)
def test_builtin_function_that_reads_outside_state_is_refused(folder: Path, imports: str, call: str) -> None:
    kind = imported_class(folder, "own_outside", f"{imports}\nclass Own:\n    def f(self):\n        return {call}\n")
    found = identify(kind, {}, {})
    assert found.digest is None
    assert "whose state is outside" in found.why


def test_builtin_function_of_a_known_package_is_accepted(folder: Path) -> None:
    text = "from math import sqrt\nclass Own:\n    def f(self):\n        return sqrt(2)\n"
    other = text.replace("sqrt", "exp")
    first = identify(imported_class(folder, "own_math", text), {}, {})
    second = identify(imported_class(folder, "own_math", other), {}, {})
    assert None not in (first.digest, second.digest)
    assert first.digest != second.digest


def test_relative_import_inside_a_function_is_followed(folder: Path) -> None:
    text = "class Own:\n    def f(self):\n        from .helper import gain\n        return gain\n"
    (folder / "own_package").mkdir()
    (folder / "own_package/__init__.py").write_text("")
    found = []
    for gain in ("1", "2", "1"):
        (folder / "own_package/helper.py").write_text(f"gain = {gain}\n")
        found.append(identify(imported_class(folder, "own_package.own", text), {}, {}))
    assert [one.why for one in found] == ["", "", ""]
    assert found[0].digest == found[2].digest != found[1].digest


def test_import_of_a_folder_without_code_is_known(folder: Path) -> None:
    (folder / "own_namespace").mkdir()
    text = "class Own:\n    def f(self):\n        import own_namespace\n        return own_namespace\n"
    found = identify(imported_class(folder, "own_importer", text), {}, {})
    assert (len(found.digest or ""), found.why) == (32, "")


def test_file_of_a_module_that_is_imported_later_counts(folder: Path) -> None:
    text = "class Own:\n    def f(self):\n        import own_later\n        return own_later\n"
    found = []
    for content in ("x = 1\n", "x = 2\n"):
        (folder / "own_later.py").write_text(content)
        found.append(identify(imported_class(folder, "own_importer", text), {}, {}).digest)
    assert None not in found
    assert found[0] != found[1]


def test_modules_of_the_user_are_listed(folder: Path) -> None:
    (folder / "own_helper.py").write_text("def gain():\n    return 1\n")
    text = "import math\nimport own_helper\nclass Own:\n    def f(self):\n        return own_helper.gain() + math.pi\n"
    assert identify(imported_class(folder, "own_user", text), {}, {}).modules == ("own_helper", "own_user")


def test_digest_of_a_file_is_the_one_at_declaration(folder: Path) -> None:
    kind = imported_class(folder, "own_changed", "class Own:\n    x = 1\n")
    files: dict[str, str] = {}
    first = identify(kind, {}, files)
    (folder / "own_changed.py").write_text("class Own:\n    x = 2\n")
    assert identify(kind, {}, files).digest == first.digest
    assert identify(kind, {}, {}).digest != first.digest
    assert list(files) == [str(folder / "own_changed.py")]


def test_absent_file_has_a_digest() -> None:
    assert file_digest("/no/such/file") == "absent"


def test_version_of_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    identity._version_of.cache_clear()
    module = ModuleType("own_distribution")
    monkeypatch.setitem(sys.modules, "own_distribution", module)
    assert identity._version_of("own_distribution.part") == ""
    identity._version_of.cache_clear()
    module.__version__ = "3.1"  # type: ignore[attr-defined]
    assert identity._version_of("own_distribution.part") == "3.1"
    identity._version_of.cache_clear()
    assert identity._version_of("numpy.linalg") == np.__version__
    assert identity._version_of("fullpipe.custom.declared") == ""
    assert identity._version_of("math").startswith(f"{sys.version_info[0]}.{sys.version_info[1]}.")
    # A package without `__version__` has that of its metadata.
    monkeypatch.setitem(sys.modules, "numpy", ModuleType("numpy"))
    identity._version_of.cache_clear()
    assert identity._version_of("numpy") == np.__version__
    identity._version_of.cache_clear()


def test_functions_of_installed_packages_are_known_by_version_and_others_by_code() -> None:
    def one(x: float) -> float:
        return x + 1

    def other(x: float) -> float:
        return x + 2

    other.__qualname__ = one.__qualname__
    assert hash_of(one) != hash_of(other)
    one.__module__ = other.__module__ = "json"
    assert hash_of(one) == hash_of(other)


def test_installed_modules_are_told_from_the_users(folder: Path) -> None:
    (folder / "own_plain.py").write_text("")
    assert identity.is_installed("json", sys.modules["json"])
    assert identity.is_installed("numpy.linalg", sys.modules["numpy"])
    assert identity.is_installed("fullpipe", None)
    assert identity._is_installed_file("built-in")
    assert identity._is_installed_file("frozen")
    assert not identity._is_installed_file(str(folder / "own_plain.py"))
    assert not identity.is_installed("own_plain", importlib.import_module("own_plain"))
    assert not identity.is_installed("own_missing", None)
