// The table of a study's points, of which only the rows in sight are elements, and what is known of one of them.
"use strict";

const ROW_HEIGHT = 27; // pixels, with its line
const ROWS_AROUND = 20; // elements above and below those in sight
const PRINTED_MAX = 1000;
const LETTERS_MAX = 30; // of a cell
const COMPARISON = /^(.+?)(<=|>=|=|<|>)(.*)$/;
const COMPARE = {
  "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b, "=": (a, b) => a === b,
};

const table = { rows: [], sortedBy: undefined, isDown: false, only: undefined };

function linkTo(row) {
  const link = document.createElement("a");
  link.href = `#point-${points.numbers[row]}`;
  link.textContent = points.numbers[row];
  return link;
}

function lookAt(rows) { // those of a mark
  if (rows.length === 1) {
    location.hash = `#point-${points.numbers[rows[0]]}`;
    return;
  }
  table.only = new Set(rows);
  findRows();
  document.getElementById("show-all").focus();
}

// ---- which rows, in which order ----

function test(term) { // whether a row has it
  const [, name, sign, text] = COMPARISON.exec(term) ?? [];
  const of = name && points.columns.find((one) => one.name.toLowerCase() === name);
  if (of && of.isWords && sign === "=") {
    const codes = new Set(of.labels.flatMap((label, code) => (label.toLowerCase() === text ? [code] : [])));
    return (row) => codes.has(of.values[row]);
  }
  if (of && of.hasNumbers && text !== "" && !Number.isNaN(Number(text))) {
    return (row) => COMPARE[sign](of.number(row), Number(text));
  }
  return (row) => wordsOf(row).includes(term);
}

function wordsOf(row) {
  table.words ??= [];
  table.words[row] ??= [
    `point ${points.numbers[row]}`, errorOf(row), ...points.columns.filter((one) => one.isWords).map((one) => one.text(row)),
  ].join(" ").toLowerCase();
  return table.words[row];
}

function findRows() {
  const terms = document.getElementById("find").value.toLowerCase().split(/\s+/).filter(Boolean).map(test);
  table.rows = shownRows().filter((row) => (!table.only || table.only.has(row)) && terms.every((has) => has(row)));
  sortRows();
  document.getElementById("show-all").hidden = !table.only;
  const n = table.rows.length;
  const shown = n === points.n ? "" : `${n} of `;
  table.element.parentElement.querySelector(".told").textContent = shown + (points.n === 1 ? "1 point" : `${points.n} points`);
  table.element.scrollTop = 0;
  fill();
}

function sortRows() {
  const { sortedBy, isDown } = table;
  if (!sortedBy) return;
  const sign = isDown ? -1 : 1;
  const isMissing = (value) => value === "" || Number.isNaN(value);
  table.rows.sort((a, b) => {
    const [left, right] = [sortedBy.rank(a), sortedBy.rank(b)];
    if (isMissing(left) || isMissing(right)) return isMissing(left) - isMissing(right) || a - b;
    return sign * (typeof left === "string" ? left.localeCompare(right) : left - right) || a - b;
  });
}

// ---- elements ----

function makeTable() {
  const element = document.createElement("table");
  element.setAttribute("aria-rowcount", points.n + 1);
  const widths = element.appendChild(document.createElement("colgroup"));
  const head = element.createTHead().insertRow();
  let width = 0;
  for (const of of table.columns) {
    const letters = of.isWords ? of.labels.reduce((n, label) => Math.max(n, label.length), 4) : 9;
    const title = Math.max(...of.title.split(" ").map((word) => word.length)) + 1; // an arrow stands behind it
    const its = 16 + Math.max(9 * Math.min(letters, LETTERS_MAX), 10 * Math.min(title, LETTERS_MAX));
    widths.appendChild(document.createElement("col")).style.width = `${its}px`;
    width += its;
    const cell = head.appendChild(document.createElement("th"));
    cell.scope = "col";
    cell.className = of.hasNumbers ? "number" : "word";
    const button = cell.appendChild(document.createElement("button"));
    button.type = "button";
    button.textContent = of.title;
    button.addEventListener("click", () => sortBy(of, head));
  }
  element.style.width = `${width}px`;
  element.createTBody();
  return element;
}

function sortBy(of, head) {
  table.isDown = table.sortedBy === of && !table.isDown;
  table.sortedBy = of;
  table.columns.forEach((one, i) => {
    const cell = head.cells[i];
    if (one === of) cell.setAttribute("aria-sort", table.isDown ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
    cell.firstChild.textContent = one.title + (one === of ? (table.isDown ? " ▼" : " ▲") : "");
  });
  sortRows();
  fill();
}

function fill(most = Infinity) {
  const { element, rows } = table;
  const inSight = Math.ceil(560 / ROW_HEIGHT);
  const first = most < Infinity ? 0 : Math.max(0, Math.floor(element.scrollTop / ROW_HEIGHT) - ROWS_AROUND);
  const end = Math.min(rows.length, most < Infinity ? most : first + inSight + 2 * ROWS_AROUND);
  const body = element.querySelector("tbody");
  const lines = rows.slice(first, end).map((row, i) => lineOf(row, first + i));
  body.replaceChildren(space(first), ...lines, space(most < Infinity ? 0 : rows.length - end));
}

function space(n) { // of rows that are not in sight
  const line = document.createElement("tr");
  line.className = "space";
  line.setAttribute("aria-hidden", "true");
  const cell = line.insertCell();
  cell.colSpan = table.columns.length;
  cell.style.height = `${n * ROW_HEIGHT}px`;
  return line;
}

function lineOf(row, at) {
  const line = document.createElement("tr");
  line.setAttribute("aria-rowindex", at + 2);
  if (errorOf(row)) line.className = "failed";
  for (const of of table.columns) {
    const cell = line.insertCell();
    if (of.name === "point") cell.append(linkTo(row));
    else cell.textContent = of.text(row);
    cell.className = of.hasNumbers ? "number" : "word";
    if (of.isWords && cell.textContent.length >= LETTERS_MAX) cell.title = cell.textContent;
  }
  return line;
}

function drawTable() {
  table.element = document.getElementById("points");
  const failures = points.errors.labels.some(Boolean)
    ? [new Column({ name: "error", is_axis: false, labels: points.errors.labels, unit: "" }, points.errors.codes)]
    : [];
  const named = (names) => names.map(column).filter(Boolean);
  const isVaried = (axis) => axis.labels.length > 1;
  const first = [
    ...named(["point"]), ...points.axes.filter(isVaried), ...named(["repetition"]), ...named(page.asked), ...failures,
    ...points.axes.filter((axis) => !isVaried(axis)),
  ];
  table.columns = [...first, ...points.columns.filter((one) => !first.includes(one))];
  table.element.append(makeTable());
  table.element.addEventListener("scroll", () => fill());
  document.getElementById("find").addEventListener("input", findRows);
  document.getElementById("show-all").addEventListener("click", () => {
    table.only = undefined;
    findRows();
    document.getElementById("find").focus();
  });
  window.addEventListener("beforeprint", () => fill(PRINTED_MAX));
  window.addEventListener("afterprint", () => fill());
  points.listeners.push(findRows);
  findRows();
}

// ---- one point ----

function add(parent, kind, text = "") {
  const element = parent.appendChild(document.createElement(kind));
  element.textContent = text;
  return element;
}

function addTable(parent, head, lines, nWords) {
  const element = add(parent, "table");
  element.className = "rows";
  for (const [kind, cells] of [["th", head], ...lines.map((line) => ["td", line])]) {
    const line = element.insertRow();
    cells.forEach((text, i) => (add(line, kind, text).className = i < nWords ? "word" : "number"));
  }
}

async function profileOf(row) { // time by kind, and the sites that cost most
  page.profiles.arrays ??= unpackedAll(Object.fromEntries(["first", "label", "count", "spent_s"].map((name) => [name, page.profiles[name]])));
  const { first, label, count, spent_s: spent } = await page.profiles.arrays;
  const { kinds, labels } = page.profiles;
  const sites = [];
  for (let i = first[row]; i < first[row + 1]; i++) {
    const times = [...spent.subarray(i * kinds.length, (i + 1) * kinds.length)];
    sites.push({ label: labels[label[i]], count: count[i], times, spent: times.reduce((a, b) => a + b, 0) });
  }
  return { kinds, sites, byKind: kinds.map((_, k) => sites.reduce((so, site) => so + site.times[k], 0)) };
}

const percent = (part, whole) => (whole ? `${((100 * part) / whole).toFixed(1)}%` : "");

function addProfile(parent, { kinds, sites, byKind }) {
  const whole = byKind.reduce((a, b) => a + b, 0);
  const shown = kinds.map((_, k) => k).filter((k) => byKind[k] > 0).sort((a, b) => byKind[b] - byKind[a]);
  add(parent, "h3", "Where the time goes, all ranks together");
  addTable(parent, ["kind", "time", "share"], shown.map((k) => [words(kinds[k]), time(byKind[k]), percent(byKind[k], whole)]), 1);
  add(parent, "h3", "Call sites that cost most");
  const lines = sites.map((site) => [
    site.label, time(site.spent), percent(site.spent, whole), site.count ? site.count.toLocaleString("en") : "",
    ...shown.map((k) => (site.times[k] ? time(site.times[k]) : "")),
  ]);
  addTable(parent, ["call", "time", "share", "calls", ...shown.map((k) => words(kinds[k]))], lines, 1);
}

function addFiles(parent, row) {
  for (const [kind, text] of [["profile", "The summary of the run"], ["trace", "The trace of the run"]]) {
    const name = fileOf(kind, row);
    if (!name) continue;
    const link = add(add(parent, "p", `${text}: `), "a", name);
    link.href = `${page.folder}/${name.split("/").map(encodeURIComponent).join("/")}`;
  }
}

async function showPoint() {
  const dialog = document.getElementById("point");
  const number = Number(/^#point-(\d+)$/.exec(location.hash)?.[1] ?? NaN);
  const row = points.numbers.indexOf(number);
  if (row < 0) {
    dialog.close();
    return;
  }
  const link = (dialog.dataset.link = location.hash);
  const content = document.createElement("div");
  add(content, "h2", `Point ${number}`).id = "point-title";
  if (errorOf(row)) add(content, "pre", errorOf(row));
  const facts = add(content, "div");
  facts.className = "facts";
  const list = add(facts, "table");
  for (const one of points.columns.filter(({ name }) => name !== "point")) {
    if (!one.text(row)) continue;
    const line = list.insertRow();
    add(line, "th", one.title);
    add(line, "td", one.text(row));
  }
  const profile = await profileOf(row);
  if (location.hash !== link) return; // another one by now
  if (profile.sites.length) addProfile(content, profile);
  addFiles(content, row);
  dialog.querySelector(":scope > div").replaceChildren(content);
  if (!dialog.open) dialog.showModal();
}

function listenForPoints() {
  const dialog = document.getElementById("point");
  dialog.addEventListener("close", () => {
    if (location.hash === dialog.dataset.link) history.replaceState(null, "", location.pathname + location.search);
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // beside it
  });
  window.addEventListener("hashchange", showPoint);
}
