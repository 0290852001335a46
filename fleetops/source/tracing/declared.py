"""Where a package declares its flags: a field of a configuration class, a command-line option, or an entry of a table."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fleetops.source.tracing.definitions import Class, Module, last_name
from fleetops.source.tracing.program import Program, Variable
from fleetops.source.tracing.texts import statement_text

_CONFIGURES = frozenset(
    {"dataclass", "config", "Struct", "BaseModel", "NamedTuple", "TypedDict", "BaseSettings", "define"}
)


# A field that is annotated as an option (0), one that an option takes its default from or stands beside (1), any other
# field (3), the option itself (5); one more where the default cannot be told.
_SURE = 1
_USUAL_ENDS = ("size", "ratio", "gb", "fraction", "space")


@dataclass(frozen=True)
class Declaration:
    """One declaration.

    Attributes:
        owner: the class whose field it is; None for an option or a table's entry.
        default: as a literal; `known` False where it is none that can be told.
        converts: where the command line turns what is typed into something else, and by what.
        rank: how surely it is the flag and not just a field of that name: the least is best.
    """

    module: Module
    line: int
    text: str
    owner: Class | None
    default: Any
    known: bool
    rank: int
    converts: str = ""


def declarations(flag: str, program: Program) -> list[Declaration]:
    """Every declaration of that flag, the surest first."""
    options = _option_modules(flag, program)
    found: list[Declaration] = []
    for module in program.modules_mentioning(flag):
        for one in _classes(module):
            if flag in one.annotated or flag in one.fields:
                found += _field(flag, program, module, one, options)
        found += _table(flag, module)
    if not options and program.package.has_options and program.files_mentioning("add_argument"):
        found = [one for one in found if one.rank <= _SURE]  # just a field of that name
    found += options
    return sorted(found, key=lambda one: (one.rank, one.module.file, one.line))


def _classes(module: Module) -> Iterator[Class]:
    waiting = list(module.classes.values())
    while waiting:
        one = waiting.pop(0)
        waiting += one.classes.values()
        yield one


def _field(
    flag: str, program: Program, module: Module, of: Class, options: list[Declaration]
) -> Iterator[Declaration]:
    for statement in of.node.body:
        if not isinstance(statement, ast.AnnAssign | ast.Assign):
            continue
        targets = [statement.target] if isinstance(statement, ast.AnnAssign) else statement.targets
        if not any(isinstance(one, ast.Name) and one.id == flag for one in targets):
            continue
        if not _configures(of, program) and not options:
            continue
        default, known = _default(statement.value, module, program)
        annotated = isinstance(statement, ast.AnnAssign) and _is_annotated(
            statement.annotation, module, program
        )
        pointed = any(one.owner is of for one in options)
        beside = any(one.module is module for one in options) or _has_options(of, module, program)
        rank = 0 if annotated else _SURE if pointed or beside else 3
        if not known and rank > _SURE:
            rank += 1
        text = statement_text(module, statement)
        yield Declaration(module, statement.lineno, text, of, default, known, rank)


def _has_options(of: Class, module: Module, program: Program) -> bool:
    """Whether other fields of it are annotated as options: then this one, declared in another way, is one as well."""
    return any(
        isinstance(one, ast.AnnAssign) and _is_annotated(one.annotation, module, program)
        for one in of.node.body
    )


def _configures(one: Class, program: Program) -> bool:
    """A dataclass or the like, by itself or by a base."""
    for base in program.lineage(one):
        marks = {last_name(mark) for mark in base.node.decorator_list}
        marks |= {
            last_name(parent.value if isinstance(parent, ast.Subscript) else parent)
            for parent in base.node.bases
        }
        if marks & _CONFIGURES:
            return True
    return False


def _is_annotated(annotation: ast.expr, module: Module, program: Program) -> bool:
    """`Annotated[int, "help"]`, also by another name."""
    if not isinstance(annotation, ast.Subscript):
        return False
    name = last_name(annotation.value)
    if name == "Annotated":
        return True
    entry = module.imports.get(name)
    if entry and entry.attribute == "Annotated":
        return True
    found = program.lookup(module, name)
    if isinstance(found, Variable):
        return any(last_name(value) == "Annotated" for value in found.module.assigns[found.name])
    return bool(found and getattr(found, "dotted", "").endswith(".Annotated"))


def _default(node: ast.expr | None, module: Module, program: Program) -> tuple[Any, bool]:
    """A literal default; that of another class's field where it is taken from there."""
    if node is None:
        return None, False
    if isinstance(node, ast.Call) and last_name(node) in {"Field", "field"}:
        given = next(
            (one.value for one in node.keywords if one.arg == "default"), node.args[0] if node.args else None
        )
        return _default(given, module, program)
    if isinstance(node, ast.Attribute):
        owner = program.expression(module, node.value)
        if isinstance(owner, Class) and owner.fields.get(node.attr) is not None:
            return _default(owner.fields[node.attr], owner.module, program)
        return None, False
    try:
        return ast.literal_eval(node), True
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None, False


def _option_modules(flag: str, program: Program) -> list[Declaration]:
    """`parser.add_argument("--the-flag", default=...)`."""
    dashed = "--" + flag.replace("_", "-")
    found: list[Declaration] = []
    for module in program.modules_mentioning(flag):
        if dashed not in module.text and "--" + flag not in module.text:
            continue
        for node in _option_calls(module, {dashed, "--" + flag}):
            default = next((one.value for one in node.keywords if one.arg == "default"), None)
            value, known = _default(default, module, program)
            owner = None
            if isinstance(default, ast.Attribute):
                target = program.expression(module, default.value)
                owner = target if isinstance(target, Class) else None
            text = module.lines[node.lineno - 1].strip()
            converts = _conversion(node, module)
            found.append(Declaration(module, node.args[0].lineno, text, owner, value, known, 5, converts))
    return found


_PLAIN_TYPES = frozenset(
    {"int", "float", "str", "bool", "Optional", "optional_type", "nullable_str", "loads"}
)


def _conversion(node: ast.Call, module: Module) -> str:
    given = next((one.value for one in node.keywords if one.arg == "type"), None)
    if given is None or last_name(given) in _PLAIN_TYPES:
        return ""
    return f"{module.file}:{given.lineno}: the command line converts it by {ast.unparse(given)}"


def _option_calls(module: Module, spelled: set[str]) -> Iterator[ast.Call]:
    for function in module.every_function:
        end = function.node.end_lineno or 0
        span = "\n".join(module.lines[function.node.lineno - 1 : end])
        if not any(one in span for one in spelled) or "add_argument" not in span:
            continue
        for node in ast.walk(function.node):
            if (
                isinstance(node, ast.Call)
                and last_name(node.func) == "add_argument"
                and any(isinstance(one, ast.Constant) and one.value in spelled for one in node.args)
            ):
                yield node


def _table(flag: str, module: Module) -> Iterator[Declaration]:
    """`{"the_flag": {"type": float, "default": 5.0}}` at the module's own level."""
    for values in module.assigns.values():
        for value in values:
            if not isinstance(value, ast.Dict):
                continue
            for key, entry in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == flag and isinstance(entry, ast.Dict):
                    given = {
                        name.value: inner
                        for name, inner in zip(entry.keys, entry.values, strict=True)
                        if isinstance(name, ast.Constant)
                    }
                    if "default" in given and ("type" in given or "env_converter" in given):
                        default = given["default"]
                        literal = isinstance(default, ast.Constant)
                        text = module.lines[key.lineno - 1].strip()
                        yield Declaration(
                            module,
                            key.lineno,
                            text,
                            None,
                            default.value if isinstance(default, ast.Constant) else None,
                            literal,
                            1,
                        )


def _words_of(name: str) -> list[str]:
    """What is to be looked for: of `hicache_size` and `hicachesize` `hicache`, as half the package mentions a size."""
    end = next((one for one in _USUAL_ENDS if name.endswith(one)), "")
    words = [word for word in name.removesuffix(end).split("_") if len(word) > 2]
    return list(dict.fromkeys(words)) or [name]


def names_declared(program: Program, near: str) -> list[str]:
    """Fields declared beside the ones that resemble `near`: for a hint after a typing mistake."""
    found: dict[str, None] = {}
    for word in _words_of(near.lower()):
        for module in program.modules_mentioning(word):
            for one in _classes(module):
                if _configures(one, program):
                    found |= dict.fromkeys(one.annotated)
    return list(found)
