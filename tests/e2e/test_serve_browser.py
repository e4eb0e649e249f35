"""The app of `hypertwin serve` in a browser, as a planner uses it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.conftest import TINY, browser_core
from tests.e2e import browser as browsers
from tests.e2e.browser import overflow, violations
from tests.python.ingest.vmware import rvtools_files
from tests.python.serve.served import Served, served

import hypertwin

pytestmark = pytest.mark.slow


@contextmanager
def opened(browser: Browser, server: Served, expected: str = r"status of (409|422)") -> Iterator[Page]:
    """The app, with the token of the server. In the end it complained only of what is expected, and asked no other."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    tab = context.new_page()
    errors: list[str] = []
    asked: list[str] = []
    tab.on("console", lambda said: errors.append(said.text) if said.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(server.address)
    expect(tab).to_have_url(f"{server.origin}/")
    yield tab
    assert not [each for each in errors if not re.search(expected, each)]
    assert all(url.startswith((server.origin, "data:", "blob:")) for url in asked), asked
    context.close()


def fits(tab: Page) -> None:
    """The view fits any window, in both schemes, and axe has no objection."""
    for width, scheme in (*browsers.READERS, (browsers.WIDEST, "light")):
        tab.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        tab.set_viewport_size({"width": width, "height": 900})
        assert overflow(tab) <= 0, f"it scrolls sideways at {width} pixels"
        wrong = violations(tab)
        assert not wrong, "\n".join(wrong)
    tab.set_viewport_size({"width": 1400, "height": 900})


def test_from_an_export_to_a_comparison(browser: Browser, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    export = tmp_path / "RVTools export.xlsx"
    rvtools_files.write_xlsx(rvtools_files.export(hosts=2, vms=4, disks=4), export)
    with served(folder, state=tmp_path / "state") as server, opened(browser, server) as tab:
        fits(tab)
        tab.get_by_label("Drop an export here").set_input_files(export)
        tab.get_by_role("link", name="RVTools-export.yaml").first.wait_for()
        fits(tab)
        tab.locator(".answer").get_by_role("link", name="RVTools-export.yaml").click()
        expect(tab.get_by_text("no errors")).to_be_visible()
        fits(tab)

        # an error appears at its field, and the question waits
        field = tab.locator("#panel").get_by_label("duration")
        field.fill("soon")
        field.press("Enter")
        tab.keyboard.press("Tab")
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(tab.locator(".field.wrong .problem")).to_contain_text('run.duration: "soon"')
        expect(tab.get_by_text("1 error").first).to_be_visible()
        fits(tab)
        field.fill("5 s")
        tab.keyboard.press("Tab")
        expect(tab.get_by_text("no errors")).to_be_visible()
        tab.get_by_role("button", name="Save", exact=True).click()
        expect(tab.get_by_text("Saved RVTools-export.yaml.")).to_be_visible()
        assert "duration: 5 s" in (folder / "RVTools-export.yaml").read_text()

        for replications in ("1", "2"):
            tab.get_by_role("tab", name="Questions").click()
            tab.locator("#panel").get_by_label("replications").fill(replications)
            tab.get_by_role("button", name="Run simulate").click()
            page = tab.frame_locator("iframe.page")
            expect(page.locator(".answer .first")).to_be_visible(timeout=60_000)
            assert not violations(tab)
            tab.go_back()
        tab.get_by_role("link", name="hypertwin").click()
        expect(tab.get_by_role("row")).to_have_count(3)
        for box in tab.get_by_role("checkbox").all():
            box.check()
        fits(tab)
        tab.get_by_role("button", name="Compare two runs").click()
        expect(tab.get_by_role("heading", name="compare")).to_be_visible()
        expect(tab.frame_locator("iframe.page").locator(".answer .first")).to_be_visible(timeout=60_000)
        with tab.expect_download() as download:
            tab.get_by_role("link", name="Download the page").click()
        assert download.value.suggested_filename.startswith("hypertwin-")


def test_form_and_editor_edit_the_same_text_and_keep_comments(browser: Browser, tmp_path: Path) -> None:
    text = TINY.replace("  db: {", "  # the database\n  db: {")
    (tmp_path / "tiny.yaml").write_text(text)
    with served(tmp_path, state=tmp_path / "state") as server, opened(browser, server) as tab:
        tab.get_by_role("link", name="tiny.yaml").click()
        db = tab.locator("details.group").filter(has=tab.get_by_role("heading", name="db"))
        db.get_by_label("vcpus").fill("9")
        tab.keyboard.press("Tab")
        tab.get_by_role("tab", name="YAML").click()
        editor = tab.get_by_role("textbox", name="YAML of tiny.yaml")
        expect(editor).to_contain_text("vcpus: 9", timeout=30_000)
        expect(tab.get_by_text("1 error").first).to_be_visible()
        fits(tab)
        editor.click()
        tab.keyboard.press("Control+End")
        tab.keyboard.type("# typed")
        tab.get_by_role("button", name="Save", exact=True).click()
        expect(tab.get_by_text("Saved tiny.yaml.")).to_be_visible()
        expected = text.replace("db: {vcpus: 2", "db: {vcpus: 9")
        assert (tmp_path / "tiny.yaml").read_text().replace("# typed", "").strip() == expected.strip()

        (tmp_path / "tiny.yaml").write_text(text)  # meanwhile, elsewhere
        editor.click()
        tab.keyboard.type("x")
        tab.get_by_role("button", name="Save", exact=True).click()
        expect(tab.get_by_role("alert").filter(has_text="changed elsewhere")).to_be_visible()
        assert (tmp_path / "tiny.yaml").read_text() == text


def test_all_is_in_reach_of_the_keyboard(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    with served(tmp_path, state=tmp_path / "state") as server, opened(browser, server) as tab:
        link = tab.get_by_role("link", name="tiny.yaml")
        link.wait_for()
        for _ in range(6):
            tab.keyboard.press("Tab")
            if link.evaluate("each => each === document.activeElement"):
                break
        tab.keyboard.press("Enter")
        expect(tab.get_by_role("heading", name="tiny.yaml")).to_be_focused()
        tab.get_by_role("tab", name="Form").focus()
        tab.keyboard.press("ArrowRight")
        expect(tab.get_by_role("tab", name="YAML")).to_be_focused()
        expect(tab.get_by_role("textbox", name="YAML of tiny.yaml")).to_be_visible()
        tab.keyboard.press("ArrowRight")
        expect(tab.get_by_role("heading", name="Ask this report")).to_be_visible(timeout=60_000)
        tab.keyboard.press("ArrowRight")
        expect(tab.get_by_role("button", name="Run simulate")).to_be_visible()


def test_what_if_is_simulated_by_the_server_as_by_the_command(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    with served(tmp_path, state=tmp_path / "state") as server, opened(browser, server) as tab:
        tab.get_by_role("link", name="tiny.yaml").click()
        tab.get_by_role("tab", name="What if").click()
        slider = tab.locator("#live-vms-db-load")
        slider.wait_for(timeout=60_000)
        fits(tab)
        slider.fill("2")
        expect(tab.locator(".live .status")).to_have_text("Simulated 2 replications of 4 s.", timeout=30_000)
        expected = hypertwin.simulate(tmp_path / "tiny.yaml", overrides={"vms.db.load": 2})
        expect(tab.locator(".live .hash")).to_contain_text(expected.sha256s[0])
        assert tab.locator(".answer .first").inner_text() == expected.answer.text
        fits(tab)
        tab.locator("#live-vms-db-vcpus + input").fill("64")
        tab.keyboard.press("Tab")
        expect(tab.locator(".live .status .bad")).to_contain_text("vms.db.vcpus")


def test_a_live_page_simulates_in_the_frame_of_the_app(browser: Browser, tmp_path: Path) -> None:
    browser_core()
    (tmp_path / "tiny.yaml").write_text(TINY)
    with served(tmp_path, state=tmp_path / "state") as server, opened(browser, server) as tab:
        tab.get_by_role("link", name="tiny.yaml").click()
        tab.get_by_role("tab", name="Questions").click()
        browsers.open_all(tab)
        tab.locator("#panel").get_by_label("live").check()
        tab.get_by_role("button", name="Run simulate").click()
        page = tab.frame_locator("iframe.page")
        page.locator("#live-vms-web-load").fill("3")
        expect(page.locator(".live .status")).to_have_text("Simulated 2 replications of 4 s.", timeout=60_000)


def test_hostile_names_do_nothing(browser: Browser, tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>.yaml"
    (tmp_path / name).write_text(TINY.replace("web:", '"<img src=x onerror=alert(1)>":'))
    with served(tmp_path, state=tmp_path / "state") as server, opened(browser, server) as tab:
        tab.on("dialog", lambda dialog: pytest.fail(dialog.message))
        tab.get_by_role("link", name=name).click()
        expect(tab.get_by_role("heading", name=name)).to_be_visible()
        expect(tab.locator(".checked")).to_contain_text("error")
        assert tab.locator("img").count() == 0


def test_a_page_cannot_ask_the_server(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    refusal = "Content Security Policy"
    with served(tmp_path, state=tmp_path / "state") as server, opened(browser, server, refusal) as tab:
        tab.get_by_role("link", name="tiny.yaml").click()
        tab.get_by_role("tab", name="Questions").click()
        tab.get_by_role("button", name="Run simulate").click()
        expect(tab.frame_locator("iframe.page").locator(".answer .first")).to_be_visible(timeout=60_000)
        frame = next(each for each in tab.frames if each.url.endswith("/page"))
        assert frame.evaluate("window.origin") == "null"
        tried = "fetch('/api/folder').then(() => 'answered', () => 'refused')"
        assert frame.evaluate(tried) == "refused"


def test_a_link_in_a_file_opens_the_app(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path, state=tmp_path / "state") as server:
        link = tmp_path / "link.html"
        link.write_text(f'<meta http-equiv="refresh" content="0;url={server.address}">')
        tab = browser.new_page()
        tab.goto(link.as_uri())
        expect(tab).to_have_url(f"{server.origin}/")
        expect(tab.get_by_role("heading", name="Scenarios")).to_be_visible()
        tab.close()
