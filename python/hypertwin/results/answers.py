"""Results of the public API: the answer class with its document, and the methods that all answers share.

Answers are displayed with the views of their command (`hypertwin.show.registry`), which are loaded on use. The
document is
the output of the command with `--format json`. `Record` makes its keys attributes.

A notebook gets a table without scripts, or with `plot` the page in a separate frame. No charts exist outside pages.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast, overload

from hypertwin import _core, naming
from hypertwin.arguments import CLASSES, checked
from hypertwin.errors import HypertwinError, short
from hypertwin.files import writing

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hypertwin.documents.page import MadeFile
    from hypertwin.show.page import Page
    from hypertwin.show.registry import Views

D = TypeVar("D")

REPR_LINES, REPR_WIDTH = 8, 120
"""Maximum number of lines and columns of a table in a `repr`."""

HTML_ROWS, HTML_NOTES = 12, 3
"""Maximum number of table rows and of notes of an answer in a notebook."""


class NoPageError(HypertwinError):
    """Raised for an answer that has no page."""

    code = "no-page"


class Record(dict[str, Any]):
    """A part of a document whose keys are also attributes: `vm.response_ms.p99` is `vm["response_ms"]["p99"]`.

    Nested mappings are records, and lists of mappings are lists of records. A record is a copy, so changes do not
    affect the answer. A key with the name of a dict method (`items`) needs brackets.
    """

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        """Return the value under a key. Raises KeyError, which suggests similar names."""
        return viewed(super().__getitem__(key))

    def __missing__(self, key: str) -> Any:
        """Raise the KeyError."""
        raise KeyError(unknown(key, self))

    def __getattr__(self, name: str) -> Any:
        """Return the value of a key as an attribute. Raises AttributeError, which suggests similar names."""
        if name not in self:
            raise AttributeError(unknown(name, self), name=name, obj=self)
        return self[name]

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value under a key, or the default."""
        return viewed(super().get(key, default))

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        """Return keys and values, with mappings as records."""
        return ItemsView(self)

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        """Return values as records."""
        return ValuesView(self)

    def __dir__(self) -> list[str]:
        """Return the attribute names and keys, for completion."""
        return [*super().__dir__(), *(key for key in self if key.isidentifier())]

    def __repr__(self) -> str:
        """Return the figures of a record as text. Nested parts are shown by their size."""
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
        """Return one record, or several."""
        return Records(self._parts[index]) if isinstance(index, slice) else Record(self._parts[index])

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self._parts)

    def __eq__(self, other: object) -> bool:
        """True if another sequence has equal records."""
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the number of records, because a full list can be too long to read."""
        return f"<{len(self)} records>"


def viewed(value: Any) -> Any:
    """Return a value of a document with mappings as records, and lists of mappings as lists of records."""
    if isinstance(value, Mapping):
        return value if isinstance(value, Record) else Record(value)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return [Record(each) for each in value]
    return value


def unknown(name: object, known: Mapping[str, Any]) -> str:
    """Return the error text for an unknown name."""
    near = naming.hint(str(name), known, "")
    listed = ", ".join(list(known)[:12]) + (", ..." if len(known) > 12 else "")
    return f"there is no {name!r}{'; ' * bool(near)}{near} (there are: {listed or 'none'})"


def _brief(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return f"{'{' if isinstance(value, Mapping) else '['}{len(value)}{'}' if isinstance(value, Mapping) else ']'}"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


class Answer(Generic[D]):
    """Base class of answers. The keys of the document are attributes: `answer.clusters["default"].cpu_usage_pct`."""

    VIEWS: ClassVar[str]
    """Name of the views of the answer in `hypertwin.show.registry`."""

    def to_dict(self) -> D:
        """Return the document: the output of the command with `--format json`."""
        raise NotImplementedError

    def to_json(self) -> str:
        """Return the document as JSON text, byte for byte as the command prints it."""
        from hypertwin.show import files

        return files.to_json(self.to_dict())

    @checked
    def report(self, path: str | Path) -> Path:
        """Write the page that the command writes with `--report`, and return its path.

        A page without a command cannot be rerun. The page of a simulation has the scenario of its first point.

        Raises NoPageError for an answer without a page, and OutputError or WriteError if the page cannot be written.
        """
        return self._write(Path(path), self._page)

    @checked
    def plot(self, height: int = 720) -> Plot:
        """Return the page with its charts inside a notebook, `height` pixels high. Raises NoPageError."""
        from hypertwin.show.page import made_of

        page = self._page()
        return Plot(page.title, page.html(made_of(self._whole(), _core.version(), files=self._made_from())), height)

    def __getitem__(self, key: str) -> Any:
        """Return the value under a key of the document. Raises KeyError."""
        return Record(self._fields())[key]

    if not TYPE_CHECKING:  # type checkers know the attributes: hypertwin/records

        def __getattr__(self, name: str) -> Any:
            """Return the value of a key as an attribute. Raises AttributeError."""
            if name.startswith("_"):
                raise AttributeError(name, name=name, obj=self)
            fields = self._fields()
            if name not in fields:
                raise AttributeError(unknown(name, fields), name=name, obj=self)
            return viewed(fields[name])

    def __dir__(self) -> list[str]:
        """Return the names of attributes and the keys of the document, for completion."""
        return [*super().__dir__(), *self._fields()]

    def __repr__(self) -> str:
        """Return the first lines of the command's output."""
        lines = [line for line in self._lines() if line.strip()]
        more = [f"... {len(lines) - REPR_LINES} more lines"] if len(lines) > REPR_LINES else []
        said = self._headline()
        return "\n".join([f"<{type(self).__name__}{f': {said}' if said else ''}>", *lines[:REPR_LINES], *more])

    def _repr_html_(self) -> str:
        """Return the first table of the page for notebooks, or lines of the terminal text if there is no page."""
        from hypertwin.show import page as pages

        try:
            page = self._page(brief=True)
        except NoPageError:
            return f"<pre>{escape(chr(10).join(list(self._lines())[:HTML_ROWS]))}</pre>"
        return pages.excerpt(page, rows=HTML_ROWS, notes=HTML_NOTES)

    def _fields(self) -> Mapping[str, Any]:
        """Return the entries that have names."""
        return cast(Mapping[str, Any], self.to_dict())

    def _whole(self) -> D:
        """Return the document for a page. Parts with lazy decoding can stay encoded."""
        return self.to_dict()

    def _views(self) -> Views[D]:
        from hypertwin.show import registry

        return cast("Views[D]", getattr(registry, self.VIEWS))

    def _table(self) -> RenderableType:
        return self._views().table(self.to_dict())

    def _lines(self) -> Sequence[str]:
        """Return the text of a terminal."""
        from hypertwin.show import table

        return table.as_text(self._table(), REPR_WIDTH).splitlines()

    def _headline(self) -> str:
        """Return the answer in a sentence, or an empty string if the table begins with that sentence."""
        return ""

    def _beside(self) -> Mapping[str, Any]:
        """Return the data for the page only."""
        return {}

    def _page(self, *, brief: bool = False) -> Page:
        """Return the page. A brief page is for its first table only."""
        page = self._views().page
        if page is None:
            raise NoPageError(
                f"a {type(self).__name__} has no page\n  help: to_json() and repr() have everything in it"
            )
        return cast("Page", page(self.to_dict(), **self._beside()))

    def _write(self, target: Path, page: Callable[[], Page]) -> Path:
        from hypertwin.show.page import made_of

        with writing.protecting(self._inputs):
            writing.check_writable(page=target)
            made = made_of(self._whole(), _core.version(), files=self._made_from())
            writing.write_atomically(target, page().html(made))
        return target

    def _made_from(self) -> Sequence[MadeFile]:
        """Return the data of its page about its origin."""
        return ()

    def _inputs(self) -> Sequence[Path]:
        """Return the input files, which its page must not overwrite."""
        return ()


CLASSES["Answer"] = Answer


@dataclass(frozen=True, repr=False)
class Document(Answer[D]):
    """Answer that consists of a document only."""

    document: D
    """Document that the command prints with `--format json`."""
    beside: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """Additional data for the page."""
    inputs: tuple[Path, ...] = field(default=(), compare=False)
    """Paths of the input files."""

    def to_dict(self) -> D:
        """Return the document."""
        return self.document

    def _beside(self) -> Mapping[str, Any]:
        return self.beside

    def _inputs(self) -> Sequence[Path]:
        return self.inputs


@dataclass(frozen=True, repr=False)
class Plot:
    """Page for a notebook, in a sandboxed frame without access to anything outside."""

    title: str
    html: str
    """HTML text of the whole page."""
    height: int = 720

    @checked
    def save(self, path: str | Path) -> Path:
        """Write the page into a file, and return its path. Raises OutputError or WriteError."""
        target = Path(path)
        writing.check_writable(page=target)
        writing.write_atomically(target, self.html)
        return target

    def __repr__(self) -> str:
        """Return one line."""
        return f"<Plot {self.title}: a page, which notebooks show>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts allow-downloads" loading="lazy" '
            f'style="width:100%;height:{int(self.height)}px;border:0" srcdoc="{escape(self.html)}"></iframe>'
        )
