"""Static check of a candidate: constants, functions, and one compiled class, so that no code of it runs in the
interpreter, neither while it is loaded nor while packets move.
"""

from __future__ import annotations

import ast

__all__ = ["MOST_BYTES", "faults"]

MOST_BYTES = 64_000
"""Size of a candidate, at most."""

MODULES = {"math": None, "fullpipe": {"algorithm", "Classic", "Signal"}}
"""Modules, and names in them; None for all."""

BANNED = {
    *("open", "exec", "eval", "compile", "getattr", "setattr", "delattr", "vars", "globals", "locals", "input"),
    *("print", "breakpoint", "memoryview", "objmode", "type", "dir", "id", "hash", "help", "exit", "quit"),
}
"""Names of functions that reach the interpreter."""


def faults(text: str, *, interpreted: bool = False) -> list[str]:
    """Faults of a candidate's source, a line each; none if it is clean.

    Args:
        text: The source.
        interpreted: Whether the class may do without ``compiled=True``.
    """
    if len(text.encode()) > MOST_BYTES:
        return [f"more than {MOST_BYTES} bytes"]
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [f"no Python code: {error}"]
    found = [fault for node in ast.walk(tree) for fault in _of_node(node)]
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    if len(classes) != 1:
        found.append(f"requires exactly one class, got {len(classes)}")
    for node in tree.body:
        found += _of_statement(node)
    for kind in classes:
        found += _of_class(kind, interpreted=interpreted)
    return list(dict.fromkeys(found))


def _of_node(node: ast.AST) -> list[str]:
    line = f"line {getattr(node, 'lineno', 0)}"
    match node:
        case ast.Import():
            return [f"{line}: import {each.name}" for each in node.names if each.name not in MODULES or each.asname]
        case ast.ImportFrom():
            allowed = MODULES.get(node.module or "", set())
            return [
                f"{line}: from {node.module} import {each.name}"
                for each in node.names
                if allowed is not None and (each.name not in allowed or each.asname)
            ]
        case ast.Name(id=name) if name in BANNED or "__" in name:
            return [f"{line}: {name}"]
        case ast.Attribute(attr=name) if "__" in name:
            return [f"{line}: .{name}"]
        case ast.Attribute(value=ast.Name(id="fullpipe"), attr=name) if name not in (MODULES["fullpipe"] or ()):
            return [f"{line}: fullpipe.{name}"]
        case ast.Global() | ast.Nonlocal() | ast.Lambda() | ast.With() | ast.Try() | ast.Await() | ast.Yield():
            return [f"{line}: {type(node).__name__.lower()}"]
        case ast.FunctionDef():
            bad = [default for default in (*node.args.defaults, *node.args.kw_defaults) if default is not None]
            found = [f"{line}: the default of an argument is not constant" for each in bad if not _constant(each)]
            return [*found, *([f"{line}: decorator of a function"] if node.decorator_list else [])]
        case ast.AsyncFunctionDef():
            return [f"{line}: async"]
    return []


def _of_statement(node: ast.stmt) -> list[str]:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.ClassDef() | ast.FunctionDef():
            return []
        case ast.Expr(value=ast.Constant()):
            return []
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) if _constant(value):
            return []
    return [f"line {node.lineno}: the module must have only imports, constants, functions, and one class"]


def _of_class(kind: ast.ClassDef, *, interpreted: bool) -> list[str]:
    bases = [ast.unparse(base) for base in (*kind.bases, *(each.value for each in kind.keywords))]
    wrong = [base for base in bases if base not in ("Classic", "fullpipe.Classic")]
    found = [f"line {kind.lineno}: the base class must be fullpipe.Classic, got {base}" for base in wrong]
    if len(kind.decorator_list) != 1:
        found.append(f"line {kind.lineno}: the class requires one decorator, fullpipe.algorithm")
    for each in kind.decorator_list:
        if not isinstance(each, ast.Call) or ast.unparse(each.func) not in ("algorithm", "fullpipe.algorithm"):
            found.append(f"line {each.lineno}: the decorator must be fullpipe.algorithm")
            continue
        options = {option.arg: option.value for option in each.keywords}
        values = (*each.args, *options.values())
        if not all(_constant(value) or isinstance(value, ast.List) for value in values) or "library" in options:
            found.append(f"line {each.lineno}: options of the decorator are not constant, or name a library")
        chosen = options.get("compiled")
        if not interpreted and (not isinstance(chosen, ast.Constant) or chosen.value is not True):
            found.append(f"line {each.lineno}: fullpipe.algorithm requires compiled=True")
    for node in kind.body:
        is_field = isinstance(node, ast.AnnAssign) and (node.value is None or _constant(node.value))
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (is_field or is_text or isinstance(node, ast.FunctionDef)):
            found.append(f"line {node.lineno}: the class must have only fields with a constant, and methods")
    return found


def _constant(node: ast.expr) -> bool:
    """Whether an expression is made of constants, and cannot be changed."""
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(operand=operand):
            return _constant(operand)
        case ast.BinOp(left=left, right=right):
            return _constant(left) and _constant(right) and not isinstance(node.op, ast.Pow | ast.LShift | ast.Mult)
        case ast.Tuple(elts=parts):
            return all(_constant(part) for part in parts)
        case ast.Attribute(value=ast.Name(id="math"), attr="inf" | "pi" | "e"):
            return True
    return False
