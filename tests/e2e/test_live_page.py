"""A page that simulates: what it shows for a change is what the command gives, and nothing is surer than it is."""

from __future__ import annotations

import re
import shlex

import pytest
from tests.conftest import TINY, browser_core
from tests.e2e import browser as browsers
from tests.e2e.browser import column, opened, overflow, violations

pytestmark = pytest.mark.slow

HOSTS = """
name: pair
run: {duration: 20 s, warmup: 5 s, sample_interval: 5 s, seed: 3, replications: 2}
clusters: {default: {ha: {enabled: true}}}
hosts:
  esx: {count: 2, sockets: 1, cores_per_socket: 4, clock: 2.4 GHz, memory_per_node: 32 GiB, hypervisor: esxi-8.0}
vms:
  app: {count: 3, vcpus: 2, memory: 4 GiB, workload: w}
  db: {vcpus: 4, cores_per_socket: 2, memory: 12 GiB, workload: w, load: 2}
workloads:
  w: {arrivals: {closed: {population: 10, think: {mean: 50 ms}}}, cpu: {mean: 3 ms}}
"""

COPIES = "navigator.clipboard.writeText = async (text) => { window.copied = text; }"


@pytest.fixture(scope="module")
def browser():
    browser_core()
    with browsers.chromium() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("live")


@pytest.fixture(scope="module")
def pair(commands, folder):
    return written(commands, folder, "pair", HOSTS)


@pytest.fixture(scope="module")
def sweep(commands, folder):
    return written(commands, folder, "tiny", TINY, "--sweep", "vms.db.load=1,2", "--set", "vms.web.count=3")


def written(commands, folder, name, text, *options):
    scenario, page = folder / f"{name}.yaml", folder / f"{name}.html"
    scenario.write_text(text)
    done = commands.run(["simulate", scenario.name, *options, "--report", page.name, "--live"], folder)
    assert done.returncode == 0, done.stderr
    return page


PATIENCE_MS = 120_000
"""Time for a run in the browser on a computer that does much else."""


def settled(tab):
    """Wait for the whole run."""
    tab.locator(".status", has_text=re.compile(r"^Simulated \d+ replications of \d+ s\.$")).wait_for(
        timeout=PATIENCE_MS
    )


def setting(tab, name):
    return tab.locator(f"#live-{name.replace('.', '-')}")


def copied(tab, label):
    tab.get_by_role("button", name=label).click()
    return tab.evaluate("window.copied")


def same_as_the_command(tab, cli, folder):
    """Run the command that the page gives; its report has the hash that the page shows."""
    command = shlex.split(copied(tab, "Copy the command of this change"))
    assert command[:2] == ["hypertwin", "simulate"]
    done = cli("-v", *command[1:], at=folder, exits=0)
    shown = re.search(r"\b[0-9a-f]{64}\b", tab.locator(".live .hash").inner_text())[0]
    assert f"report of point 1: {shown}" in done.stderr
    return done.stdout


@pytest.mark.parametrize("which", ["pair", "sweep"])
def test_what_holds_for_every_page(which, browser, tmp_path, request):
    browsers.check(browser, request.getfixturevalue(which), tmp_path)


def test_a_change_gives_what_the_command_gives(browser, pair, cli, folder):
    with opened(browser, pair) as page:
        page.tab.evaluate(COPIES)
        setting(page.tab, "vms.app.load").fill("2.5")
        setting(page.tab, "vms.db.shares").select_option("high")
        settled(page.tab)
        assert "pair, with app.load 2.5, db.shares high" in page.tab.locator("h1").inner_text()
        answer = page.tab.locator(".answer .first").inner_text()
        said = same_as_the_command(page.tab, cli, folder)
        assert said.startswith(answer), "the judge is the same"
        assert page.tab.locator(".content.pending, .content.preview").count() == 0
        assert "±" in page.tab.locator("main").inner_text()
        assert page.tab.get_by_role("table", name="Figures that changed most").count() == 1
        assert not violations(page.tab)


def test_a_host_that_fails_and_another_hypervisor(browser, pair, cli, folder):
    with opened(browser, pair) as page:
        page.tab.evaluate(COPIES)
        page.tab.get_by_label("Host that fails").select_option("esx-2")
        setting(page.tab, "hosts.esx.hypervisor").select_option("esxi-6.5")
        settled(page.tab)
        same_as_the_command(page.tab, cli, folder)


def test_a_preview_says_so_and_has_no_verdict(browser, pair):
    with opened(browser, pair) as page:
        page.tab.locator(".live").hover()
        page.tab.wait_for_timeout(1500)
        slider = setting(page.tab, "vms.app.load")
        for value in ("3", "3.5", "4"):
            slider.evaluate(
                "(input, value) => { input.value = value; input.dispatchEvent(new Event('input', {bubbles: true})) }",
                value,
            )
        page.tab.locator(".status", has_text="Preview: one replication of").wait_for()
        assert re.match(r"Preview of \d+ s, without a verdict\.", page.tab.locator(".answer .first").inner_text())
        text = page.tab.locator("main").inner_text()
        assert "±" not in text.split("Compared with the original")[1].split("Definitions")[0]
        assert "suffers" not in page.tab.locator(".answer").inner_text()
        assert page.tab.locator(".content.pending.preview").count() == 1
        settled(page.tab)


def test_the_address_has_the_changes_and_they_can_be_taken_back(browser, pair):
    with opened(browser, pair) as page:
        original = page.tab.locator("main").inner_text()
        setting(page.tab, "vms.db.vcpus").fill("2")
        settled(page.tab)
        assert page.tab.url.endswith("#?point=0&vms.db.vcpus=2")
        changed = page.tab.locator("main").inner_text()
        page.tab.locator(".contents a").nth(1).click()
        page.tab.wait_for_function("location.hash.includes('?')")
        page.tab.reload()
        settled(page.tab)
        assert page.tab.locator("main").inner_text() == changed
        setting(page.tab, "vms.app.count").fill("4")
        settled(page.tab)
        page.tab.get_by_role("button", name="Undo").click()
        settled(page.tab)
        assert page.tab.locator("main").inner_text() == changed
        page.tab.locator(".live").get_by_role("button", name="Original", exact=True).click()
        assert page.tab.locator("main").inner_text() == original
        assert "?" not in page.tab.url


def test_a_setting_that_cannot_be_is_told_and_the_figures_stay(browser, pair):
    with opened(browser, pair) as page:
        before = page.tab.locator(".answer").inner_text()
        number = page.tab.locator("#live-vms-db-vcpus + input")
        number.fill("32")
        number.press("Tab")
        error = page.tab.locator(".status .bad")
        error.wait_for()
        assert "db" in error.inner_text()
        assert page.tab.locator(".answer").inner_text() == before
        assert page.tab.locator(".content.pending").count() == 0
        assert page.tab.locator(".live button", has_text="copy as command").count() == 0
        number.fill("6")
        number.press("Tab")
        settled(page.tab)
        assert error.count() == 0


CHANGES = """all => all.forEach(([path, value]) => {
  const number = document.querySelector(`#live-${path.replaceAll('.', '-')} + input`);
  number.value = value;
  number.dispatchEvent(new Event("change", {bubbles: true}));
})"""


def test_a_preview_never_has_the_name_of_a_later_change(browser, pair):
    with opened(browser, pair) as page:
        page.tab.locator(".live").hover()
        page.tab.wait_for_timeout(1500)
        page.tab.evaluate(CHANGES, [["vms.app.load", 3], ["vms.db.vcpus", 32]])  # the second cannot be
        page.tab.locator(".status .bad").wait_for()
        assert "vcpus" not in page.tab.locator("h1").inner_text()
        judged = ".content:not(.pending) .answer:not(:has-text('Preview'))"
        assert page.tab.locator(f".content.preview, {judged}").count() == 1


def test_the_hash_of_an_earlier_change_is_not_shown(browser, pair):
    with opened(browser, pair) as page:
        setting(page.tab, "vms.app.load").fill("2")
        settled(page.tab)
        assert page.tab.locator(".live .hash").count() == 1
        page.tab.evaluate(CHANGES, [["vms.db.vcpus", 32]])
        page.tab.locator(".status .bad").wait_for()
        assert page.tab.locator(".live .hash").count() == 0
        page.tab.get_by_role("button", name="Undo").click()
        settled(page.tab)
        page.tab.evaluate(CHANGES, [["vms.app.load", 2000]])
        assert page.tab.locator(".live .hash").count() == 0


def test_memory_moves_by_whole_gibibytes(browser, pair):
    with opened(browser, pair) as page:
        setting(page.tab, "vms.app.memory").focus()
        page.tab.keyboard.press("ArrowRight")
        settled(page.tab)
        assert page.tab.url.endswith("&vms.app.memory=5+GiB")


def test_undo_after_another_point_was_chosen_is_of_that_point(browser, sweep, cli, folder):
    with opened(browser, sweep) as page:
        page.tab.evaluate(COPIES)
        page.tab.locator(".choices select").select_option("0")
        setting(page.tab, "vms.web.vcpus").fill("2")
        settled(page.tab)
        page.tab.locator(".live").get_by_role("button", name="Original", exact=True).click()
        page.tab.locator(".choices select").select_option("1")
        page.tab.get_by_role("button", name="Undo").click()
        settled(page.tab)
        assert "vms.db.load=2" in same_as_the_command(page.tab, cli, folder)
        assert "#?point=1&" in page.tab.url


def test_a_point_of_a_sweep_is_compared_with_itself(browser, sweep, cli, folder):
    with opened(browser, sweep) as page:
        page.tab.evaluate(COPIES)
        page.tab.locator(".choices select").select_option("0")
        before = page.tab.locator("main").inner_text()
        setting(page.tab, "vms.web.vcpus").fill("2")
        settled(page.tab)
        said = same_as_the_command(page.tab, cli, folder)
        assert "vms.db.load=1" in said and "vms.web.count=3" in said
        original = column(page.tab, "Figures that changed most", "Original")
        assert any(figure in before for figure in original if figure)


def without_charts(text: str) -> str:
    """Leave out the charts over time, which a run that was nearly over has opened on a slow computer."""
    return re.sub(r"Over time\n.*?(?=Groups, VMs, hosts and storage)", "", text, flags=re.DOTALL)


def test_what_takes_too_long_can_be_taken_back(browser, pair):
    with opened(browser, pair) as page:
        before = without_charts(page.tab.locator("main").inner_text())
        number = page.tab.locator("#live-vms-app-load + input")
        number.fill("20000")
        number.press("Tab")
        page.tab.wait_for_timeout(2500)
        page.tab.locator(".live").get_by_role("button", name="Original", exact=True).click()
        assert without_charts(page.tab.locator("main").inner_text()) == before
        setting(page.tab, "vms.app.load").fill("2")
        settled(page.tab)


def test_an_address_typed_in_the_page_is_followed(browser, pair):
    with opened(browser, pair) as page:
        setting(page.tab, "vms.app.load").fill("2")
        settled(page.tab)
        with page.tab.expect_navigation():
            page.tab.evaluate("location.hash = '?point=0&vms.app.load=3'")
        settled(page.tab)
        assert "with app.load 3" in page.tab.locator("h1").inner_text()


def test_a_damaged_core_is_told_and_the_figures_stay(browser, pair, tmp_path):
    text, cut = pair.read_text(), tmp_path / "cut.html"
    core = re.search(r'<script id="core"[^>]*>([^<]*)</script>', text)[1]
    cut.write_text(text.replace(core, core[: len(core) // 2]))
    with opened(browser, cut) as page:
        before = page.tab.locator("main").inner_text()
        setting(page.tab, "vms.app.load").fill("2")
        page.tab.locator(".status .bad", has_text="the core of this page is damaged").wait_for()
        assert page.tab.locator("main").inner_text() == before


def test_the_keyboard_is_enough(browser, pair):
    with opened(browser, pair) as page:
        setting(page.tab, "vms.app.count").focus()
        page.tab.keyboard.press("ArrowRight")
        settled(page.tab)
        assert "app.count 4" in page.tab.locator("h1").inner_text()
        page.tab.keyboard.press("Tab")
        assert page.tab.evaluate("document.activeElement.type") == "number"


def test_a_hostile_address_changes_nothing_but_settings(browser, pair, folder):
    hostile = "?point=0&vms.db.load=-1e9&vms.__proto__.polluted=1&run.seed=9&vms.db.shares=%3Cimg%20src=x%3E"
    with opened(browser, pair) as page:
        page.tab.goto("about:blank")
        page.tab.goto(f"{pair.as_uri()}#{hostile}")
        settled(page.tab)
        assert page.tab.evaluate("({}).polluted") is None
        assert "with db.load 0" in page.tab.locator("h1").inner_text()
        assert "img" not in page.tab.locator("h1").inner_text()


@pytest.mark.parametrize("width", [400, 2000])
def test_the_panel_fits_narrow_and_wide_windows(browser, pair, width):
    with opened(browser, pair, width, "dark") as page:
        panel = page.tab.locator(".live details")
        assert (panel.get_attribute("open") is None) == (width < 1000)
        panel.evaluate("(details) => { details.open = true; }")
        setting(page.tab, "vms.app.load").fill("2")
        settled(page.tab)
        assert overflow(page.tab) <= 0
        assert not violations(page.tab)


def test_a_calibrated_page_gives_a_command_with_its_calibration(browser, commands, cli, folder):
    (folder / "c.yaml").write_text("calibrated_on: a trace\nset: {workloads.oltp.cpu.mean: 7 ms}\n")
    page_of = written(commands, folder, "calibrated", TINY, "--calibration", "c.yaml")
    with opened(browser, page_of) as page:
        page.tab.evaluate(COPIES)
        setting(page.tab, "vms.db.load").fill("2")
        settled(page.tab)
        same_as_the_command(page.tab, cli, folder)
        assert "--calibration c.yaml" in page.tab.evaluate("window.copied")
