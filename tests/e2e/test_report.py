"""The HTML report: one file that loads nothing, with charts, safe with hostile names."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

import hypertwin
from hypertwin.report import simulation_page
from hypertwin.report.simulation_charts import Mark

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'"


class Tags(HTMLParser):
    """Collects start tags and the text of the figures element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def figures(page: str) -> dict:
    return json.loads(re.search(r'<script id="figures" type="application/json">(.*?)</script>', page, re.S)[1])


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    from tests.conftest import TINY

    path = tmp_path_factory.mktemp("report") / "tiny.yaml"
    path.write_text(TINY)
    return hypertwin.simulate(path, sweep={"vms.db.vcpus": [1, 2], "vms.db.load": [1, 2, 3]}).to_dict()


def test_the_report_is_one_file_with_charts(cli, tiny, tmp_path):
    done = cli("simulate", tiny, "--sweep", "vms.db.load=1,2,3", "--report", "report.html", "--format", "json")
    assert done.returncode == 0
    json.loads(done.stdout)
    page = (tmp_path / "report.html").read_text()
    tags = Tags(page).found
    assert not [tag for tag, attributes in tags if tag in ("link", "iframe", "object", "embed", "base")]
    assert not [attributes for tag, attributes in tags if attributes.get("src") or attributes.get("href")]
    policy = next(attributes["content"] for _, attributes in tags if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    drawn = figures(page)
    assert len(drawn) == 7
    assert {attributes["id"] for tag, attributes in tags if attributes.get("class") == "chart"} == set(drawn)
    assert all(choice["data"] for choices in drawn.values() for choice in choices)


def test_load_is_the_x_axis_and_each_vcpu_count_a_line(swept):
    page = simulation_page.page(swept).html()
    response = figures(page)["chart-1"][0]
    assert [trace["name"] for trace in response["data"]] == ["1 vCPUs", "2 vCPUs"]
    assert response["data"][0]["x"] == [1, 2, 3]
    means = [point["groups"]["db"]["response_ms"]["mean"] for point in swept["points"]]
    assert response["data"][0]["y"] == pytest.approx(means[:3])
    assert len(figures(page)["chart-7"]) == 6  # one timeline per point


def test_published_figures_are_marked_where_they_belong(swept):
    marks = [
        Mark({"vms.db.vcpus": 2, "vms.db.load": 3}, "vms.db.guest_cpu_pct", 50.0),
        Mark({"vms.db.vcpus": 2, "vms.db.load": 3, "vms.web.count": 1}, "vms.db.guest_cpu_pct", 60.0),
        Mark({"vms.db.vcpus": 9, "vms.db.load": 3}, "vms.db.guest_cpu_pct", 70.0),
    ]
    drawn = figures(simulation_page.page(swept, marks=marks).html())
    marked = [trace for choices in drawn.values() for trace in choices[0]["data"] if trace.get("name") == "published"]
    assert [(trace["x"], trace["y"]) for trace in marked] == [([3], [50.0])]


@pytest.mark.parametrize(
    "sweep",
    [
        {},
        {"hosts.esx1.hypervisor": ["esxi-6.0", "esxi-8.0"]},
        {"vms.db.vcpus": [1, 2], "vms.web.vcpus": [1, 2], "run.seed": [1, 2]},
        {"vms.db.load": [0.5]},
    ],
)
def test_any_sweep_can_be_drawn(tiny, sweep):
    result = hypertwin.simulate(tiny, sweep=sweep, replications=1).to_dict()
    assert figures(simulation_page.page(result).html())


def test_hostile_text_stays_text(swept):
    text = json.dumps(swept).replace('"db"', json.dumps(HOSTILE)).replace("tiny", "<b>tiny</b>")
    rows = [
        {
            **dict.fromkeys(
                ("study", "case", "metric", "unit", "kind", "published_text", "tolerance_text", "note"), HOSTILE
            ),
            **{"published": 1.0, "twin": 1.0, "error_pct": 0.0, "tolerance": 1.0, "pass": True},
        }
    ]
    page = simulation_page.page(json.loads(text), title=HOSTILE, description=HOSTILE, validation=rows).html()
    tags = Tags(page).found
    assert sum(tag == "script" for tag, _ in tags) == 3
    assert not [tag for tag, attributes in tags if tag in ("img", "b") or "onerror" in attributes]
    names = [trace.get("name", "") for choices in figures(page).values() for each in choices for trace in each["data"]]
    assert not [name for name in names if "<" in name]


def test_the_same_result_gives_the_same_bytes(swept):
    assert simulation_page.page(swept).html() == simulation_page.page(swept).html()
