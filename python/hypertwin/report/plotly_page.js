"use strict";
const figures = JSON.parse(document.getElementById("figures").textContent);
const options = { responsive: true, displayModeBar: false };
for (const [id, choices] of Object.entries(figures)) Plotly.newPlot(id, choices[0].data, choices[0].layout, options);
for (const hidden of document.querySelectorAll("details"))
  hidden.addEventListener("toggle", () => {
    for (const chart of hidden.querySelectorAll(".chart")) if (chart.offsetParent) Plotly.Plots.resize(chart);
  });
for (const select of document.querySelectorAll("select[data-chart]"))
  select.addEventListener("change", () => {
    const figure = figures[select.dataset.chart][Number(select.value)];
    Plotly.react(select.dataset.chart, figure.data, figure.layout, options);
  });
for (const head of document.querySelectorAll(".sortable th"))
  head.addEventListener("click", () => {
    const body = head.closest("table").tBodies[0];
    const index = head.cellIndex;
    const down = head.dataset.down !== "true";
    head.dataset.down = String(down);
    const key = (row) => row.cells[index].textContent;
    const number = (text) => parseFloat(text.replaceAll(",", ""));
    const order = (a, b) => {
      const [x, y] = [number(key(a)), number(key(b))];
      return Number.isNaN(x) || Number.isNaN(y) ? key(a).localeCompare(key(b)) : x - y;
    };
    body.append(...[...body.rows].sort((a, b) => (down ? order(a, b) : order(b, a))));
  });
