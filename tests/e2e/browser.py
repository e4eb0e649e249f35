"""Opens pages in Chromium as a reader gets them, from a file, and checks what holds for any page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Page as Tab
from tests.conftest import needs

CHROMIUM = Path("/usr/bin/chromium")
READERS = ((400, "dark"), (1400, "light"))
"""Each width and each scheme once: no width depends on colours."""
WIDEST = 2000

DRAWN = "#app main"


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser for several pages."""
    needs(CHROMIUM)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page in the browser, and what went wrong or off the machine while it was there."""

    tab: Tab
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def opened(browser: Browser, file: Path, width: int = 1400, scheme: str = "light", **options: Any) -> Iterator[Opened]:
    """The page of a file, drawn. In the end it must have asked for nothing but itself, and complained of nothing."""
    viewport = {"width": width, "height": 900}
    context = browser.new_context(viewport=viewport, color_scheme=scheme, **options)  # type: ignore[arg-type]
    tab = context.new_page()
    found = Opened(tab)
    tab.on("console", lambda said: found.errors.append(said.text) if said.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: found.errors.append(str(error)))
    tab.on("request", lambda asked: found.requests.append(asked.url))
    tab.goto(file.as_uri())
    if options.get("java_script_enabled", True):
        tab.locator(DRAWN).wait_for()
    yield found
    own = re.compile(rf"^(data:|blob:|{re.escape(file.as_uri())})")
    assert not found.errors, "\n".join(found.errors)
    foreign = [url for url in found.requests if not own.match(url)]
    assert not foreign, f"requests off the machine: {foreign}"
    context.close()


def check(browser: Browser, file: Path, tmp_path: Path) -> str:
    """What holds for any page, narrow and wide, dark and light, and on paper; its words, before anything is opened."""
    words = ""
    for width, scheme in READERS:
        with opened(browser, file, width, scheme) as page:
            words = page.tab.locator("main").inner_text()
            assert overflow(page.tab) <= 0, f"the page scrolls sideways at {width} pixels"
            open_all(page.tab)
            assert overflow(page.tab) <= 0, f"the page scrolls sideways at {width} pixels when all is open"
            wrong = violations(page.tab)
            assert not wrong, "\n".join(wrong)
            if (width, scheme) != READERS[-1]:
                continue
            page.tab.set_viewport_size({"width": WIDEST, "height": 900})
            assert overflow(page.tab) <= 0, f"the page scrolls sideways at {WIDEST} pixels"
            missing = cut(page.tab)
            assert not missing, "cut on paper:\n" + "\n".join(missing)
            assert printed(page.tab, tmp_path / "page.pdf") >= 1
    return words


def overflow(tab: Tab) -> int:
    """Pixels that the page is wider than the window."""
    return int(tab.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def open_all(tab: Tab) -> None:
    """Open what is folded."""
    closed = tab.locator("details:not([open])")
    while closed.count():
        closed.evaluate_all("all => all.forEach((details) => { details.open = true; })")


KINDS_OF_TEXT = """() => {
  const looks = (each) => {
    const {backgroundColor, backgroundImage, opacity} = getComputedStyle(each);
    return [each.tagName, each.className.baseVal ?? each.className, backgroundColor, backgroundImage, opacity].join();
  };
  const around = new Map([[document.documentElement, ""]]), found = new Map();
  for (const each of document.body.querySelectorAll("*")) {
    const parent = each.parentElement;
    if (!around.has(parent)) around.set(parent, around.get(parent.parentElement) + looks(parent));
    if (![...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    const {color, fill, fontSize, fontWeight, visibility} = getComputedStyle(each);
    const kind = [around.get(parent), looks(each), color, fill, fontSize, fontWeight, visibility].join();
    const alike = found.get(kind) ?? [];
    if (alike.length < 2 && each.getClientRects().length) found.set(kind, [...alike, each]);
  }
  return [...found.values()].flat();
}"""
"""Two elements of each kind of text, by all that its contrast may depend on: of hundreds of cells that look alike."""


def violations(tab: Tab) -> list[str]:
    """What axe finds serious or critical. It computes contrast, by far its longest rule, for each kind of text."""
    options: dict[str, Any] = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": False}}}
    found = Axe().run(tab, options=options).response["violations"]
    contrast = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}
    looked_at = f"async (options) => await axe.run(({KINDS_OF_TEXT})(), options)"
    found += tab.evaluate(looked_at, contrast)["violations"]
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:150] for node in each['nodes'][:3]]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


def printed(tab: Tab, target: Path) -> int:
    """Print to PDF; the number of sheets."""
    tab.pdf(path=target, format="A4")
    return len(re.findall(rb"/Type\s*/Page\b", target.read_bytes()))


def cut(tab: Tab) -> list[str]:
    """What does not fit on paper, A4 between margins of 12 mm; the page stays as it is printed."""
    tab.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    tab.emulate_media(media="print")
    tab.set_viewport_size({"width": 703, "height": 1000})
    found = tab.evaluate(
        """() => [...document.querySelectorAll("main *")]
             .filter((each) => each.getClientRects().length && !each.classList.contains("unseen"))
             .filter((each) => each.getBoundingClientRect().right > window.innerWidth + 1)
             .map((each) => each.outerHTML.slice(0, 120))"""
    )
    return list(map(str, found))[:5]


def column(tab: Tab, table: str, head: str) -> list[str]:
    """The cells of a column that are on the page, by the caption of the table and the head of the column."""
    return tab.get_by_role("table", name=table).first.evaluate(
        """(table, head) => {
          const at = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent.startsWith(head));
          return [...table.tBodies[0].rows].map((row) => row.cells[at].textContent);
        }""",
        head,
    )
