"use strict";

const rows = [...document.querySelectorAll("tr.check")];
const boxes = [...document.querySelectorAll("input[data-filter]")];
const search = document.querySelector("#search");
const shown = document.querySelector("#shown");

const wanted = (kind) =>
  new Set(boxes.filter((box) => box.dataset.filter === kind && box.checked).map((box) => box.value));

const close = (row) => {
  row.nextElementSibling.hidden = true;
  for (const button of row.querySelectorAll("button")) button.setAttribute("aria-expanded", "false");
};

const filter = () => {
  const levels = wanted("level");
  const verdicts = wanted("verdict");
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const row of rows) {
    const detail = row.nextElementSibling;
    const text = `${row.textContent} ${detail.textContent}`.toLowerCase();
    const isShown =
      (row.dataset.level === undefined || levels.has(row.dataset.level)) &&
      row.dataset.verdicts.split(",").some((verdict) => verdicts.has(verdict)) &&
      words.every((word) => text.includes(word));
    row.hidden = !isShown;
    if (!isShown) close(row);
    count += isShown;
  }
  for (const area of document.querySelectorAll("section.area")) {
    area.hidden = !area.querySelector("tr.check:not([hidden])");
  }
  shown.textContent = `${count} of ${rows.length} ${shown.dataset.what}`;
};

const open = (button) => {
  const row = button.closest("tr");
  const isOpen = button.getAttribute("aria-expanded") === "true";
  close(row);
  if (isOpen) return;
  const detail = row.nextElementSibling;
  for (const outcome of detail.querySelectorAll("[data-revision]")) {
    outcome.hidden = outcome.dataset.revision !== button.dataset.revision;
  }
  detail.hidden = false;
  button.setAttribute("aria-expanded", "true");
};

for (const box of boxes) box.addEventListener("change", filter);
search.addEventListener("input", filter);
document.addEventListener("click", (event) => {
  const button = event.target.closest("td.cell button");
  if (button) open(button);
});
filter();
