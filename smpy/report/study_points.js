// The points of a study: their columns, which of them are shown, and how their values are written.
"use strict";

const MANY = 40; // values of an axis, too many to choose one of

class Column {
  constructor(given, values) {
    Object.assign(this, given);
    this.values = values; // numbers; of words, which of the labels
  }

  get isAxis() {
    return this.is_axis;
  }

  get isWords() {
    return this.labels !== undefined;
  }

  get hasNumbers() {
    return !this.isWords || Boolean(this.numbers);
  }

  get isOfFew() {
    return this.isAxis && this.labels.length > 1 && this.labels.length <= MANY;
  }

  get title() {
    return this.isAxis ? this.name : words(this.name.replace(/_(s|eur|kwh|bytes)$/, ""));
  }

  number(row) {
    if (!this.isWords) return this.values[row];
    return this.numbers ? (this.numbers[this.values[row]] ?? NaN) : NaN;
  }

  rank(row) { // what a table is sorted by
    return this.isWords && !this.isAxis ? this.labels[this.values[row]] : this.values[row];
  }

  text(row) {
    return this.isWords ? this.labels[this.values[row]] : this.told(this.values[row]);
  }

  told(number) {
    if (Number.isNaN(number)) return "";
    if (this.unit === "s") return time(number);
    if (this.unit === "B") return size(number);
    if (this.unit === "share") return `${(100 * number).toFixed(1)}%`;
    return this.unit ? `${plain(number)} ${this.unit}` : plain(number);
  }

  tick(number) { // beside a title that has the unit
    return ["s", "B", "share"].includes(this.unit) && !this.isAxis ? this.told(number) : plain(number);
  }
}

function plain(number) {
  const size = Math.abs(number);
  if (size && (size < 1e-4 || size >= 1e15)) return number.toPrecision(4);
  return number.toLocaleString("en", size >= 1e5 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 6 });
}

const points = { n: 0, columns: [], only: new Map(), listeners: [] };

async function readPoints() {
  points.columns = await Promise.all(
    page.columns.map(async (given) => new Column(given, await unpacked(given.values ?? given.codes))),
  );
  const read = async (given) => ({ labels: given.labels, codes: await unpacked(given.codes) });
  points.errors = await read(page.errors);
  points.files = { profile: await read(page.files.profile), trace: await read(page.files.trace) };
  points.axes = points.columns.filter((column) => column.isAxis);
  points.n = points.errors.codes.length;
  points.numbers = column("point")?.values ?? [];
}

function column(name) {
  return points.columns.find((one) => one.name === name);
}

function errorOf(row) {
  return points.errors.labels[points.errors.codes[row]];
}

function fileOf(kind, row) {
  return points.files[kind].labels[points.files[kind].codes[row]];
}

function shownRows() { // those that have the chosen value of each axis
  const chosen = [...points.only].map(([axis, code]) => [axis.values, code]);
  const rows = [];
  for (let row = 0; row < points.n; row++) if (chosen.every(([codes, code]) => codes[row] === code)) rows.push(row);
  return rows;
}

function settingOf(row) {
  return points.axes.map((axis) => `${axis.name} = ${axis.text(row)}`).join(", ") || `point ${points.numbers[row]}`;
}

function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

function grouped(rows, keyOf) { // rows by their keys, in order
  const groups = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return groups;
}

// ---- controls ----

function choice(controls, label, options, chosen, onChange) { // of pairs of a value and its words
  const element = document.createElement("select");
  for (const [value, text] of options) element.add(new Option(text.length > 60 ? `${text.slice(0, 57)}...` : text, value));
  element.value = chosen;
  element.addEventListener("change", () => onChange(element.value));
  labelled(controls, label).append(" ", element);
  return element;
}

function tick(controls, label, isOn, onChange) {
  const element = document.createElement("input");
  element.type = "checkbox";
  element.checked = isOn;
  element.addEventListener("change", () => onChange(element.checked));
  labelled(controls, ` ${label}`).prepend(element);
  return element;
}

function labelled(controls, text) {
  const label = controls.appendChild(document.createElement("label"));
  label.textContent = text;
  return label;
}

function chooseShown(controls) { // one value of an axis, or all
  for (const axis of points.axes.filter((one) => one.isOfFew)) {
    const options = [["", "all"], ...axis.labels.map((label, code) => [String(code), label])];
    choice(controls, `only ${axis.name}`, options, "", (value) => {
      if (value === "") points.only.delete(axis);
      else points.only.set(axis, Number(value));
      for (const listener of points.listeners) listener();
    });
  }
}

const namesOf = (columns) => columns.map((one) => [one.name, one.title]);
