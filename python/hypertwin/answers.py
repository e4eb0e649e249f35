"""Results of the public API: an answer with its document, and methods shared by all answers.

An answer displays with the views of its command (`hypertwin.report.registry`), which are loaded on use. The document is
the output of the command with `--format json`; `Record` makes its keys attributes.
"""

from __future__ import annotations

from collections.abc import ItemsView, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast, overload

from hypertwin import _core, naming, writing
from hypertwin.arguments import CLASSES, checked
from hypertwin.errors import HypertwinError, short

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hypertwin.documents.page import MadeFile
    from hypertwin.report.page import Page
    from hypertwin.report.registry import Views

D = TypeVar("D")

REPR_LINES, REPR_WIDTH = 8, 120
"""Lines and columns of a table in a `repr`."""

HTML_ROWS, HTML_NOTES = 12, 3
"""Rows and notes of an answer that a notebook shows."""


class NoPageError(HypertwinError):
    """An answer has no page."""

    code = "no-page"


class Record(dict[str, Any]):
    """A part of a document whose keys are also attributes: `vm.response_ms.p99` is `vm["response_ms"]["p99"]`.

    Nested mappings are records, and lists of mappings are lists of records. A record is a copy, so changes do not
    affect the answer. A key with the name of a dict method (`items`) needs brackets.
    """

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        """The value under a key. Raises KeyError, which suggests similar names."""
        return viewed(super().__getitem__(key))

    def __missing__(self, key: str) -> Any:
        """Raise the KeyError."""
        raise KeyError(unknown(key, self))

    def __getattr__(self, name: str) -> Any:
        """The value of a key as an attribute. Raises AttributeError, which suggests similar names."""
        if name not in self:
            raise AttributeError(unknown(name, self), name=name, obj=self)
        return self[name]

    def get(self, key: str, default: Any = None) -> Any:
        """The value under a key, or the default."""
        return viewed(super().get(key, default))

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        """Keys and values, with mappings as records."""
        return ItemsView(self)

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        """Values as records."""
        return ValuesView(self)

    def __dir__(self) -> list[str]:
        """Attribute names and keys, for completion."""
        return [*super().__dir__(), *(key for key in self if key.isidentifier())]

    def __repr__(self) -> str:
        """Figures; for nested parts only their size."""
        return f"<{short(', '.join(f'{key}={_brief(value)}' for key, value in self.items()), REPR_WIDTH * 3)}>"


class Records(Sequence[Record]):
    """Parts of a document as records, created on access."""

    def __init__(self, parts: Sequence[Mapping[str, Any]]) -> None:
        """Wrap a sequence of mappings."""
        self._parts = parts

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Records: ...
    def __getitem__(self, index: int | slice) -> Record | Records:
        """One record, or several."""
        return Records(self._parts[index]) if isinstance(index, slice) else Record(self._parts[index])

    def __len__(self) -> int:
        """Number of records."""
        return len(self._parts)

    def __eq__(self, other: object) -> bool:
        """True if another sequence has equal records."""
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Number of records, because a full list can be too long to read."""
        return f"<{len(self)} records>"


def viewed(value: Any) -> Any:
    """A value of a document: mappings as records, lists of mappings as lists of records."""
    if isinstance(value, Mapping):
        return value if isinstance(value, Record) else Record(value)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return [Record(each) for each in value]
    return value


def unknown(name: object, known: Mapping[str, Any]) -> str:
    """The error text for an unknown name."""
    near = naming.hint(str(name), known, "")
    listed = ", ".join(list(known)[:12]) + (", ..." if len(known) > 12 else "")
    return f"there is no {name!r}{'; ' * bool(near)}{near} (there are: {listed or 'none'})"


def _brief(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return f"{'{' if isinstance(value, Mapping) else '['}{len(value)}{'}' if isinstance(value, Mapping) else ']'}"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


class Answer(Generic[D]):
    """An answer. The keys of its document are attributes: `answer.clusters["default"].cpu_usage_pct`."""

    VIEWS: ClassVar[str]
    """The name of its views in `hypertwin.report.registry`."""

    def to_dict(self) -> D:
        """The document: the output of the command with `--format json`."""
        raise NotImplementedError

    def to_json(self) -> str:
        """The document as JSON text, byte for byte as the command prints it."""
        from hypertwin.report import files

        return files.to_json(self.to_dict())

    @checked
    def report(self, path: str | Path) -> Path:
        """Write the page that the command writes with `--report`, and return its path.

        A page without a command cannot be rerun. The page of a simulation has the scenario of its first point.

        Raises NoPageError for an answer without a page, and OutputError or WriteError if it cannot be written.
        """
        from hypertwin.report.page import made_of

        target = Path(path)
        with writing.protecting(self._inputs):
            writing.check_writable(page=target)
            writing.write_atomically(
                target, self._page().html(made_of(self._whole(), _core.version(), files=self._made_from()))
            )
        return target

    @checked
    def plot(self, height: int = 720) -> Plot:
        """The page with its charts inside a notebook, `height` pixels high. Raises NoPageError."""
        from hypertwin.report.page import made_of

        page = self._page()
        return Plot(page.title, page.html(made_of(self._whole(), _core.version(), files=self._made_from())), height)

    def __getitem__(self, key: str) -> Any:
        """The value under a key of the document. Raises KeyError."""
        return Record(self._fields())[key]

    if not TYPE_CHECKING:  # type checkers know the attributes: hypertwin/records

        def __getattr__(self, name: str) -> Any:
            """The value of a key as an attribute. Raises AttributeError."""
            if name.startswith("_"):
                raise AttributeError(name, name=name, obj=self)
            fields = self._fields()
            if name not in fields:
                raise AttributeError(unknown(name, fields), name=name, obj=self)
            return viewed(fields[name])

    def __dir__(self) -> list[str]:
        """Own names and the keys of the document, for completion."""
        return [*super().__dir__(), *self._fields()]

    def __repr__(self) -> str:
        """The first lines of the command's output."""
        lines = [line for line in self._lines() if line.strip()]
        more = [f"... {len(lines) - REPR_LINES} more lines"] if len(lines) > REPR_LINES else []
        said = self._headline()
        return "\n".join([f"<{type(self).__name__}{f': {said}' if said else ''}>", *lines[:REPR_LINES], *more])

    def _repr_html_(self) -> str:
        """The first table of the page, for notebooks; for an answer without a page, lines of the terminal text."""
        from hypertwin.report import page as pages

        try:
            page = self._page(brief=True)
        except NoPageError:
            return f"<pre>{escape(chr(10).join(list(self._lines())[:HTML_ROWS]))}</pre>"
        return pages.excerpt(page, rows=HTML_ROWS, notes=HTML_NOTES)

    def _fields(self) -> Mapping[str, Any]:
        """Entries that have names."""
        return cast(Mapping[str, Any], self.to_dict())

    def _whole(self) -> D:
        """The document for a page; parts with lazy decoding can stay encoded."""
        return self.to_dict()

    def _views(self) -> Views[D]:
        from hypertwin.report import registry

        return cast("Views[D]", getattr(registry, self.VIEWS))

    def _table(self) -> RenderableType:
        return self._views().table(self.to_dict())

    def _lines(self) -> Sequence[str]:
        """The text of a terminal."""
        from hypertwin.report import table

        return table.as_text(self._table(), REPR_WIDTH).splitlines()

    def _headline(self) -> str:
        """The answer in a sentence, if its table does not begin with it."""
        return ""

    def _beside(self) -> Mapping[str, Any]:
        """Data for the page only."""
        return {}

    def _page(self, *, brief: bool = False) -> Page:
        """The page; a brief page is for its first table only."""
        page = self._views().page
        if page is None:
            raise NoPageError(
                f"a {type(self).__name__} has no page\n  help: to_json() and repr() have everything in it"
            )
        return cast("Page", page(self.to_dict(), **self._beside()))

    def _made_from(self) -> Sequence[MadeFile]:
        """Data of its page about its origin."""
        return ()

    def _inputs(self) -> Sequence[Path]:
        """Input files, which its page must not overwrite."""
        return ()


CLASSES["Answer"] = Answer


@dataclass(frozen=True, repr=False)
class Document(Answer[D]):
    """An answer that consists of its document only."""

    document: D
    """The document of `--format json`."""
    beside: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Data for the page only."""
    inputs: tuple[Path, ...] = field(default=(), compare=False)
    """Input files."""

    def to_dict(self) -> D:
        """The document."""
        return self.document

    def _beside(self) -> Mapping[str, Any]:
        return self.beside

    def _inputs(self) -> Sequence[Path]:
        return self.inputs


@dataclass(frozen=True, repr=False)
class Plot:
    """A page for a notebook, in a sandboxed frame without access to anything outside."""

    title: str
    html: str
    """The whole page; `save` writes it."""
    height: int = 720

    @checked
    def save(self, path: str | Path) -> Path:
        """Write the page into a file, and return its path. Raises OutputError or WriteError."""
        target = Path(path)
        writing.check_writable(page=target)
        writing.write_atomically(target, self.html)
        return target

    def __repr__(self) -> str:
        """One line."""
        return f"<Plot {self.title}: a page, which notebooks show>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts allow-downloads" loading="lazy" '
            f'style="width:100%;height:{int(self.height)}px;border:0" srcdoc="{escape(self.html)}"></iframe>'
        )
