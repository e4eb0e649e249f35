"""How fast a page that simulates answers: from a change to its first figures, in headless Chromium; and its core's CPU.

The page itself measures the time to the frame that shows the preview. Native and WebAssembly core simulate the same
scenario in turn, in one run.
"""

# ruff: noqa: T201  printing is what this program does

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from hypertwin import _core
from hypertwin.cli.main import run as hypertwin
from hypertwin.scenario import load
from hypertwin.show import browser_core

CHANGES = 40
HOST = "sockets: 2, cores_per_socket: 16, clock: 2.6 GHz, memory_per_node: 512 GiB, hypervisor: esxi-8.0"
LARGE = f"""
name: large
run: {{duration: 60 s, warmup: 10 s, replications: 3}}
hosts:
  esx: {{count: 30, {HOST}}}
  edge: {{count: 4, {HOST}}}
vms:
  app: {{count: 500, vcpus: 4, memory: 16 GiB, workload: app, host: esx}}
  web: {{count: 200, vcpus: 2, memory: 8 GiB, workload: web, host: esx}}
  gateway: {{count: 100, vcpus: 2, memory: 4 GiB, workload: web, host: edge}}
workloads:
  app: {{arrivals: {{open: {{rate: 20 /s}}}}, cpu: {{mean: 20 ms}}}}
  web: {{arrivals: {{open: {{rate: 30 /s}}}}, cpu: {{mean: 8 ms}}}}
"""
POOL = """
name: pool
run: {duration: 20 s, warmup: 5 s, replications: 3}
hosts:
  node: {count: 4, sockets: 2, cores_per_socket: 12, clock: 2.5 GHz, memory_per_node: 128 GiB, hypervisor: linux-6.6}
storage:
  pool: {kind: ceph, nodes: node, redundancy: replicas-3, devices: {per_node: 4, capacity: 2 TB, kind: nvme}}
vms:
  db: {count: 8, vcpus: 4, memory: 16 GiB, workload: oltp, storage: pool}
workloads:
  oltp: {arrivals: {closed: {population: 8, think: {mean: 20 ms}}}, cpu: {mean: 3 ms}, ios: 4, read_pct: 70}
"""

NODE = """
const { readFileSync } = require("fs");
(async () => {
  const [wasm, scenario] = process.argv.slice(1);
  const core = (await WebAssembly.instantiate(readFileSync(wasm), {})).instance.exports;
  const text = readFileSync(scenario);
  const place = core.input(text.length);
  new Uint8Array(core.memory.buffer, place, text.length).set(text);
  core.open();
  for (let run = 0; run < 12; run += 1) core.run(0, 1n, 0n);
  const began = performance.now();
  for (let run = 0; run < 8; run += 1) core.run(0, 1n, 0n);
  console.log((performance.now() - began) / 8);
})();
"""


def main() -> int:
    """Print a line for each page, and the ratio of the cores."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
        small = subprocess.run(
            [sys.executable, "-m", "hypertwin", "examples", "small-esxi"], check=True, capture_output=True, text=True
        ).stdout
        for name, text, settings in (
            ("small-esxi", small, ["vms.db.load"]),
            ("large", LARGE, ["vms.gateway.load", "vms.app.load"]),
            ("pool", POOL, ["vms.db.load"]),
        ):
            page = written(Path(folder), name, text)
            size = page.stat().st_size / 1e6
            print(f"{name}: {size:.2f} MB")
            for setting in settings:
                tab = browser.new_page(viewport={"width": 1400, "height": 1000})
                tab.goto(page.as_uri())
                painted = tab.evaluate("performance.getEntriesByName('first-paint')[0]?.startTime ?? 0")
                times = sorted(redraws(tab, setting))
                p95 = times[int(0.95 * (len(times) - 1))]
                middle = statistics.median(times)
                print(f"  {setting}: first figures {middle:.0f} ms median, {p95:.0f} ms p95; drawn in {painted:.0f} ms")
                tab.close()
        browser.close()
        cores(Path(folder), small)
    return 0


def written(folder: Path, name: str, text: str) -> Path:
    """Write the page of a scenario."""
    scenario, page = folder / f"{name}.yaml", folder / f"{name}.html"
    scenario.write_text(text)
    code = hypertwin(["-q", "simulate", str(scenario), "--report", str(page), "--live", "-o", str(folder / "o.json")])
    assert not code, code
    return page


def redraws(tab: Page, setting: str) -> list[float]:
    """Move a slider as a hand does, and return the milliseconds to the first figures of each value."""
    tab.locator(".live").hover()
    tab.wait_for_timeout(4_000)
    section, name, *_ = setting.split(".")
    chooser = tab.locator("#live-entry")
    if chooser.count():
        chooser.select_option(f"{section}.{name}")
    slider = tab.locator(f"#live-{setting.replace('.', '-')}")
    slider.hover()
    found: list[float] = []
    for step in range(CHANGES):
        tab.evaluate("performance.clearMeasures()")
        slider.evaluate(
            "(input, value) => { input.value = value; input.dispatchEvent(new Event('input', {bubbles: true})) }",
            str(round(1 + 0.05 * step, 2)) if step else "0.95",
        )
        measured: list[float] = []
        while not measured:
            tab.wait_for_timeout(10)
            measured = tab.evaluate("performance.getEntriesByName('hypertwin: redrawn').map((each) => each.duration)")
        found += measured
    return found[2:]


def cores(folder: Path, text: str) -> None:
    """Print the CPU time of a run in WebAssembly and natively."""
    scenario = load(text, {"run.warmup": "5 s", "run.duration": "60 s", "run.replications": 1})
    (folder / "core.wasm").write_bytes(browser_core.module())
    (folder / "scenario.json").write_text(scenario.json)
    ratios = []
    for _ in range(5):
        arguments = ["node", "-e", NODE, str(folder / "core.wasm"), str(folder / "scenario.json")]
        wasm_ms = float(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)
        seed = _core.replication_seed(1, 0)
        _core.run(scenario.json, seed)
        began = time.process_time()
        for _ in range(8):
            _core.run(scenario.json, seed)
        native_ms = (time.process_time() - began) * 1e3 / 8
        ratios.append(wasm_ms / native_ms)
    print(f"core: a run of small-esxi takes {wasm_ms:.0f} ms in WebAssembly, {native_ms:.0f} ms natively;")
    print(f"  ratio {statistics.median(ratios):.2f} (from {min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    sys.exit(main())
