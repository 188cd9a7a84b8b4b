"""Takes the repository's folder, gives its Python files parsed, with what each one imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = {"jitmagic": ROOT / "jitmagic", "jitmagic_widgets": ROOT / "widgets/jitmagic_widgets"}


@dataclass(frozen=True)
class Import:
    """One imported module of ours, and the line that imports it."""

    module: str
    line: int


@dataclass(frozen=True)
class Source:
    """One module: its dotted name, its file, and what can be read from its text."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=str(self.path))

    @property
    def place(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @property
    def stage(self) -> str:
        """The part of the house it stands in: ``graph`` for ``jitmagic.graph.meta``."""
        package, *rest = self.name.split(".")
        if package == "jitmagic_widgets":
            return "widgets"
        return rest[0] if rest else ""

    def imports(self, known: frozenset[str], *, for_types: bool = True) -> list[Import]:
        """Every module of ours that it imports, wherever in the file the import stands.

        With ``for_types`` False without those below ``if TYPE_CHECKING``, which never happen.
        """
        skipped = set() if for_types else {id(n) for n in self._type_checking()}
        nodes = (node for node in ast.walk(self.tree) if id(node) not in skipped)
        return [found for node in nodes for found in self._imported(node, known)]

    def _type_checking(self) -> Iterator[ast.AST]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                for statement in node.body:
                    yield from ast.walk(statement)

    def _imported(self, node: ast.AST, known: frozenset[str]) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in known:
                    yield Import(alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = self._absolute(node)
            submodules = {f"{base}.{alias.name}" for alias in node.names} & known
            if base in known and len(submodules) < len(node.names):
                yield Import(base, node.lineno)
            for name in sorted(submodules):
                yield Import(name, node.lineno)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        up = node.level - 1 if self.is_package else node.level
        base = parts[: len(parts) - up]
        return ".".join([*base, node.module] if node.module else base)


@cache
def package_sources() -> tuple[Source, ...]:
    """All modules of ``jitmagic`` and ``jitmagic_widgets``."""
    return tuple(
        Source(_dotted(package, folder, path), path)
        for package, folder in PACKAGES.items()
        for path in sorted(folder.rglob("*.py"))
    )


def module_names() -> frozenset[str]:
    return frozenset(source.name for source in package_sources())


def python_files() -> list[Path]:
    """Every Python file of the repository: package, widgets, tests, examples, docs."""
    folders = ("jitmagic", "widgets", "tests", "examples", "docs")
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def text_files() -> list[Path]:
    """Every file that people read: the Python files, notebooks, and what lies at the top."""
    notebooks = sorted((ROOT / "examples").rglob("*.ipynb"))
    top = ["README.md", "CHANGELOG.md", "Makefile", "pyproject.toml", ".ci/run", ".gitignore"]
    return [*python_files(), *notebooks, *(ROOT / name for name in top)]


def _dotted(package: str, folder: Path, path: Path) -> str:
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join([package, *(part for part in parts if part != "__init__")])
