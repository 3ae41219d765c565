// The figures of a study: any column against any other, and the front of two of them.
"use strict";

// Okabe and Ito's colours, told apart by colour-blind people too; marks and dashes tell series apart in print.
const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#8A8A8A"];
const MARKS = ["circle", "square", "diamond", "triangle-up", "x", "cross", "star", "triangle-down"];
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash"];
const SERIES_MAX = 12; // of an axis of numbers: more are a scale of colours
const FACETS_MAX = 8;
const LOG_FROM = 20; // times as much
const TICKS_MAX = 12; // of an axis
const TICKS_ACROSS_MAX = 20; // of axes side by side
const WHISKERS_MAX = 400;
const MARKS_MAX = 3000; // that a scale of colours has unasked: drawing 10,000 takes a second
const FRONT_MAX = 100; // rows of its table

function style(code) {
  const round = Math.floor(code / PALETTE.length);
  return { color: PALETTE[code % PALETTE.length], symbol: MARKS[(code + round) % MARKS.length], dash: DASHES[round % DASHES.length] };
}

function extent(column, rows) {
  let [least, most] = [Infinity, -Infinity];
  for (const row of rows) {
    const number = column.number(row);
    if (number < least) least = number;
    if (number > most) most = number;
  }
  return [least, most];
}

function spansDecades(column, rows) {
  const [least, most] = extent(column, rows);
  return least > 0 && most >= LOG_FROM * least;
}

function axisOf(column, isLog, rows, nAcross = 1) { // plotly's, for a column
  if (!column.hasNumbers) {
    return { type: "category", categoryorder: "array", categoryarray: column.labels.map(escaped), range: [-0.5, column.labels.length - 0.5], automargin: true };
  }
  const layout = { type: isLog ? "log" : "linear", exponentformat: "SI", minexponent: 0 };
  if (!column.isAxis && ["s", "B"].includes(column.unit)) layout.ticksuffix = column.unit;
  if (column.unit === "share") layout.tickformat = ".0%";
  if (column.unit === "EUR") layout.tickformat = ",";
  if (isLog) Object.assign(layout, ticksOf(column, rows, Math.min(TICKS_MAX, Math.ceil(TICKS_ACROSS_MAX / nAcross))), nAcross > 1 && { tickangle: 0 });
  return layout;
}

function ticksOf(column, rows, most) { // of a logarithmic axis: the levels, or 1, 2, 5, 10, ... as far as there is room
  const known = column.numbers?.filter((number) => number > 0);
  if (known && known.length <= TICKS_MAX) {
    const step = Math.ceil(known.length / most);
    const tickvals = known.filter((_, i) => i % step === 0);
    return { tickvals, ticktext: tickvals.map((number) => escaped(column.labels[column.numbers.indexOf(number)])) };
  }
  const [least, greatest] = extent(column, rows);
  const [first, last] = [least, greatest].map((number) => Math.floor(Math.log10(number)));
  const digits = (last - first + 1) * 3 <= most ? [1, 2, 5] : [1];
  const step = Math.ceil(((last - first + 1) * digits.length) / most);
  const tickvals = [];
  for (let decade = first; decade <= last + 1; decade += step) for (const digit of digits) tickvals.push(Number(`${digit}e${decade}`));
  return { tickvals, ticktext: tickvals.map((number) => column.tick(number)) };
}

function titleOf(column) {
  const isInTicks = !column.unit || (!column.isAxis && ["s", "B", "share"].includes(column.unit));
  return escaped(column.title) + (isInTicks ? "" : `, ${escaped(column.unit)}`);
}

// ---- any column against any other ----

const compared = {};

function isMachine(axis) { // such axes are told apart by colours, in one panel
  return axis.name === "platform";
}

function defaults() {
  const varied = points.axes.filter((axis) => axis.labels.length > 1);
  const byLength = varied.filter((axis) => axis.hasNumbers).sort((a, b) => b.labels.length - a.labels.length);
  const x = varied.find((axis) => axis.name === "ranks") ?? byLength[0] ?? varied[0] ?? points.axes[0] ?? column("point");
  const isManyMarks = (axis) => axis.labels.length > SERIES_MAX && points.n > MARKS_MAX;
  const others = varied.filter((axis) => axis !== x && (axis.hasNumbers || axis.isOfFew) && !isManyMarks(axis));
  const [series, facet] = others.toSorted((a, b) => isMachine(b) - isMachine(a));
  const y = column("makespan_s");
  const facets = facet && facet.labels.length <= FACETS_MAX ? facet : undefined;
  Object.assign(compared, { x, y, series, columns: facets, rows: undefined });
  compared.whiskers = column("half_width_s") && !column("repetition") ? "half-width" : "range";
  compared.isLogX = x.hasNumbers && spansDecades(x, shownRows());
  compared.isLogY = spansDecades(y, shownRows());
}

function marks(rows) { // by panel and series: the points at each x, and their median
  const { x, y, series, columns, rows: facetRows } = compared;
  const codeOf = (axis, row) => (axis ? axis.values[row] : 0);
  const isScale = series && series.hasNumbers && series.labels.length > SERIES_MAX;
  const byTrace = grouped(rows, (row) => [codeOf(facetRows, row), codeOf(columns, row), isScale ? 0 : codeOf(series, row)].join());
  return [...byTrace].map(([key, its]) => {
    const at = [...grouped(its, (row) => (isScale ? `${x.values[row]},${series.values[row]}` : x.values[row])).values()];
    const found = at.map((group) => ({ rows: group, y: median(group.map((row) => y.values[row])) }));
    found.sort((a, b) => (x.hasNumbers ? x.number(a.rows[0]) - x.number(b.rows[0]) : x.values[a.rows[0]] - x.values[b.rows[0]]));
    const [facetRow, facetColumn, code] = key.split(",").map(Number);
    return { facetRow, facetColumn, code, isScale, found };
  });
}

function whiskers(found) {
  const { y, whiskers: kind } = compared;
  if (kind === "none" || found.length > WHISKERS_MAX) return undefined;
  const halfWidth = column("half_width_s");
  if (kind === "half-width" && halfWidth && y.name === "makespan_s") {
    return { type: "data", array: found.map((mark) => median(mark.rows.map((row) => halfWidth.values[row]))) };
  }
  const [below, above] = [Math.min, Math.max].map((extreme) =>
    found.map((mark) => Math.abs(mark.rows.reduce((so, row) => extreme(so, y.values[row]), mark.y) - mark.y)));
  return above.some(Boolean) || below.some(Boolean) ? { type: "data", array: above, arrayminus: below, symmetric: false } : undefined;
}

function hover(mark) {
  const { x, y, series, columns, rows } = compared;
  const row = mark.rows[0];
  const said = [x, series, columns, rows].filter(Boolean).map((one) => `${one.title} = ${one.text(row)}`);
  const n = mark.rows.length;
  const of = n > 1 ? `, the median of ${n} points` : `, point ${points.numbers[row]}`;
  return escaped(`${said.join(", ")}`) + `<br>${escaped(y.title)}: ${escaped(y.told(mark.y))}${of}`;
}

function traceOf(group, panel, isFirst) {
  const { x, series } = compared;
  const { color, symbol, dash } = style(group.code);
  const isLine = x.hasNumbers && !group.isScale && group.found.length <= WHISKERS_MAX;
  const trace = {
    type: "scatter", mode: isLine ? "lines+markers" : "markers", xaxis: `x${panel}`, yaxis: `y${panel}`,
    x: group.found.map((mark) => (x.hasNumbers ? x.number(mark.rows[0]) : escaped(x.text(mark.rows[0])))), y: group.found.map((mark) => mark.y),
    text: group.found.map(hover), customdata: group.found.map((mark) => mark.rows), hovertemplate: "%{text}<extra></extra>",
    marker: { color, symbol, size: x.hasNumbers ? 7 : 10 }, line: { color, dash, width: 1.6 }, error_y: whiskers(group.found),
    name: series ? escaped(series.labels[group.code]) : "", legendgroup: String(group.code), showlegend: Boolean(series) && !group.isScale && isFirst,
  };
  if (trace.error_y) Object.assign(trace.error_y, { color, thickness: 1.2, width: 4 });
  if (group.isScale) {
    const numbers = group.found.map((mark) => series.number(mark.rows[0]));
    const known = series.numbers.filter((number) => number !== null);
    const colorbar = { title: { text: titleOf(series) }, exponentformat: "SI" };
    trace.marker = { color: numbers, colorscale: "Cividis", size: 6, showscale: isFirst, colorbar, cmin: known[0], cmax: known.at(-1) };
  }
  return trace;
}

function comparison() { // traces and layout
  const { x, y, series, columns, rows: facetRows, isLogX, isLogY } = compared;
  const rows = shownRows().filter((row) => !Number.isNaN(y.values[row]) && !errorOf(row));
  const placed = x.hasNumbers ? rows.filter((row) => !Number.isNaN(x.number(row))) : rows;
  const groups = marks(placed).sort((a, b) => a.code - b.code);
  const present = (axis, key) => (axis ? [...new Set(groups.map((group) => group[key]))].sort((a, b) => a - b) : [0]);
  const [across, down] = [present(columns, "facetColumn"), present(facetRows, "facetRow")];
  const layout = {
    height: Math.max(460, 80 + 240 * down.length), margin: { t: 50, r: 30, b: 50, l: 80 }, hovermode: "closest", annotations: [],
    legend: { title: { text: series ? escaped(series.name) : "" } },
  };
  const domain = (at, n) => [at / n + (at ? 0.02 : 0), (at + 1) / n - (at + 1 < n ? 0.02 : 0)];
  for (let r = 0; r < down.length; r++) {
    for (let c = 0; c < across.length; c++) {
      const panel = r * across.length + c + 1;
      const isBottom = r + 1 === down.length;
      layout[`xaxis${panel}`] = {
        ...axisOf(x, isLogX, placed, across.length), domain: domain(c, across.length), anchor: `y${panel}`, showticklabels: isBottom,
        title: { text: isBottom ? titleOf(x) : "" }, ...(panel > 1 && { matches: "x" }),
      };
      layout[`yaxis${panel}`] = {
        ...axisOf(y, isLogY, rows), domain: domain(down.length - 1 - r, down.length), anchor: `x${panel}`, showticklabels: c === 0,
        title: { text: c === 0 ? titleOf(y) : "" }, ...(panel > 1 && { matches: "y" }), ...(!isLogY && { rangemode: "tozero" }),
      };
      const heading = (text, place) => layout.annotations.push({ text: escaped(text), showarrow: false, font: { size: 13 }, ...place });
      if (columns && r === 0) {
        heading(`${columns.name} = ${columns.labels[across[c]]}`, { xref: `x${panel} domain`, yref: "paper", x: 0.5, y: 1.02, yanchor: "bottom" });
      }
      if (facetRows && c === 0) {
        heading(`${facetRows.name} = ${facetRows.labels[down[r]]}`, { xref: "paper", yref: `y${panel} domain`, x: 0.01, y: 0.99, xanchor: "left", yanchor: "top" });
      }
    }
  }
  const seen = new Set();
  const traces = groups.map((group) => {
    const panel = down.indexOf(facetRows ? group.facetRow : 0) * across.length + across.indexOf(columns ? group.facetColumn : 0) + 1;
    const isFirst = !seen.has(group.code);
    seen.add(group.code);
    return traceOf(group, panel, isFirst);
  });
  return { traces, layout, told: inWords(groups, rows.length - placed.length) };
}

function inWords(groups, nUnplaced) {
  const { x, y, series, columns, rows, whiskers: kind } = compared;
  const most = groups.reduce((so, group) => group.found.reduce((n, mark) => Math.max(n, mark.rows.length), so), 0);
  const used = new Set([x, series, columns, rows]);
  const others = points.axes.filter((axis) => axis.labels.length > 1 && !used.has(axis) && !points.only.has(axis)).map((axis) => axis.name);
  const said = [];
  if (!most) said.push(`No point that is shown has ${y.title}.`);
  else if (most > 1) {
    const over = [...others, ...(column("repetition") ? ["repetitions"] : [])].join(", ");
    said.push(`Each mark is the median of up to ${most} points${over ? ` (${over})` : ""}${kind === "range" ? "; bars reach from the lowest to the highest" : ""}.`);
  } else said.push("Each mark is a point: click it to see all of it.");
  if (nUnplaced) said.push(`${nUnplaced} points have no number for ${x.title}.`);
  return said.join(" ");
}

function chooseCompared(controls, draw) {
  const { columns } = points;
  const placed = columns.filter((one) => one.isAxis || one.hasNumbers);
  const numeric = columns.filter((one) => !one.isAxis && one.hasNumbers && !["point", "repetition"].includes(one.name));
  const few = points.axes.filter((axis) => axis.labels.length > 1);
  const none = ["", "(none)"];
  const ticks = {};
  const set = (key, name) => {
    compared[key] = column(name);
    const log = { x: "isLogX", y: "isLogY" }[key];
    if (log) {
      compared[log] = compared[key].hasNumbers && spansDecades(compared[key], shownRows());
      ticks[log].checked = compared[log];
    }
    draw();
  };
  const some = (key, label, options) => {
    if (options.length) choice(controls, label, [none, ...namesOf(options)], compared[key]?.name ?? "", (name) => set(key, name));
  };
  choice(controls, "x", namesOf(placed), compared.x.name, (name) => set("x", name));
  choice(controls, "y", namesOf(numeric), compared.y.name, (name) => set("y", name));
  some("series", "colour", few.filter((axis) => axis.hasNumbers || axis.isOfFew));
  some("columns", "side by side", few.filter((axis) => axis.labels.length <= FACETS_MAX));
  some("rows", "one below the other", few.filter((axis) => axis.labels.length <= FACETS_MAX));
  for (const [key, label] of [["isLogX", "logarithmic x"], ["isLogY", "logarithmic y"]]) {
    ticks[key] = tick(controls, label, compared[key], (isOn) => {
      compared[key] = isOn;
      draw();
    });
  }
  const kinds = [["range", "lowest to highest"], ...(column("half_width_s") ? [["half-width", "uncertainty"]] : []), ["none", "none"]];
  choice(controls, "bars", kinds, compared.whiskers, (kind) => {
    compared.whiskers = kind;
    draw();
  });
}

async function drawCompared(figure) {
  const draw = () => {
    const { traces, layout, told } = comparison();
    figure.parentElement.querySelector(".told").textContent = told;
    return Plotly.react(figure, traces, layout, CONFIG);
  };
  defaults();
  const controls = figure.parentElement.querySelector(".controls");
  chooseCompared(controls, draw);
  chooseShown(controls);
  points.listeners.push(draw);
  await draw();
  figure.on("plotly_click", ({ points: [{ customdata: rows }] }) => lookAt(rows));
}

// ---- the front of two columns ----

const front = { isMoreX: false, isMoreY: false };

function frontOf(settings) { // those that none is better than in both: by x, each with a better y than all before
  const sign = { x: front.isMoreX ? -1 : 1, y: front.isMoreY ? -1 : 1 };
  const sorted = settings.toSorted((a, b) => sign.x * (a.x - b.x) || sign.y * (a.y - b.y));
  let [best, at] = [Infinity, NaN];
  return sorted.filter(({ x, y }) => {
    const isBetter = sign.y * y < best || (sign.y * y === best && x === at);
    if (isBetter) [best, at] = [sign.y * y, x];
    return isBetter;
  });
}

function frontsOf(settings) { // one of each program, where a study has several: their times are not to be compared
  const program = column("program");
  if (!program?.isAxis) return [frontOf(settings)];
  return [...grouped(settings, ({ rows }) => program.values[rows[0]]).values()].map(frontOf);
}

function settingsShown() {
  const { x, y } = front;
  const rows = shownRows().filter((row) => !errorOf(row) && !Number.isNaN(x.number(row)) && !Number.isNaN(y.number(row)));
  const groups = grouped(rows, (row) => points.axes.map((axis) => axis.values[row]).join());
  return [...groups.values()].map((its) => ({
    rows: its, x: median(its.map((row) => x.number(row))), y: median(its.map((row) => y.number(row))),
  }));
}

function frontTable(element, best) {
  const varied = points.axes.filter((axis) => axis.labels.length > 1);
  const head = [front.x.title, front.y.title, ...varied.map((axis) => axis.name), "point"];
  const table = document.createElement("table");
  table.className = "rows";
  const add = (row, kind, text) => row.appendChild(document.createElement(kind)).append(text);
  const top = table.insertRow();
  for (const name of head) add(top, "th", name);
  for (const { rows, x, y } of best.slice(0, FRONT_MAX)) {
    const line = table.insertRow();
    for (const text of [front.x.told(x), front.y.told(y), ...varied.map((axis) => axis.text(rows[0]))]) add(line, "td", text);
    add(line, "td", linkTo(rows[0]));
  }
  element.replaceChildren(table);
}

function frontPicture() {
  const { x, y, series } = front;
  const settings = settingsShown();
  const rows = settings.flatMap((one) => one.rows);
  const fronts = frontsOf(settings);
  const text = ({ rows, x: atX, y: atY }) =>
    `${escaped(settingOf(rows[0]))}<br>${escaped(`${x.title}: ${x.told(atX)}, ${y.title}: ${y.told(atY)}`)}`;
  const scatter = (its, more) => ({
    type: "scatter", mode: "markers", x: its.map((one) => one.x), y: its.map((one) => one.y), text: its.map(text),
    customdata: its.map((one) => one.rows), hovertemplate: "%{text}<extra></extra>", ...more,
  });
  const bySeries = [...grouped(settings, ({ rows }) => (series ? series.values[rows[0]] : 0))].sort(([a], [b]) => a - b);
  const traces = bySeries.map(([code, its]) => {
    const { color, symbol } = series ? style(code) : { color: "#7d8892", symbol: "circle" };
    return scatter(its, { name: series ? escaped(series.labels[code]) : "others", marker: { color, symbol, size: 7, opacity: 0.75 } });
  });
  traces.push(...fronts.map((best, number) => scatter(best, {
    mode: "lines+markers", name: "Pareto front", showlegend: number === 0,
    line: { color: "#000", width: 1.5, shape: front.isMoreX ? "vh" : "hv" },
    marker: { color: "rgba(0,0,0,0)", size: 12, line: { color: "#000", width: 1.5 } },
  })));
  const layout = {
    height: 460, margin: { t: 30, r: 30, b: 50, l: 80 }, hovermode: "closest",
    legend: { title: { text: series ? escaped(series.name) : "" } },
    xaxis: { ...axisOf(x, front.isLogX, rows), title: { text: titleOf(x) }, ...(!front.isLogX && { rangemode: "tozero" }) },
    yaxis: { ...axisOf(y, front.isLogY, rows), title: { text: titleOf(y) }, ...(!front.isLogY && { rangemode: "tozero" }) },
  };
  return { traces, layout, fronts, n: settings.length };
}

async function drawFront(figure) {
  const { parentElement: section } = figure;
  const draw = () => {
    const { traces, layout, fronts, n } = frontPicture();
    const best = fronts.flat();
    const which = fronts.length > 1 ? "fronts of the programs" : "front";
    const left = best.length > FRONT_MAX ? `; the first ${FRONT_MAX}:` : "";
    section.querySelector(".told").textContent = `${best.length} of ${n} are on the Pareto ${which}${left}`;
    frontTable(section.querySelector("div.front"), best);
    return Plotly.react(figure, traces, layout, CONFIG);
  };
  const numeric = points.columns.filter((one) => !one.isWords && !["point", "repetition"].includes(one.name));
  const few = points.axes.filter((axis) => axis.isOfFew);
  const isOfSome = (one) => one && new Set(one.values.filter((value) => !Number.isNaN(value))).size > 1;
  const costs = ["price_eur", "run_eur", "energy_kwh"].map(column);
  const x = costs.find(isOfSome) ?? costs[0];
  Object.assign(front, { x, y: column("makespan_s"), series: few.find(isMachine) ?? few.find((axis) => !axis.hasNumbers) ?? few[0] });
  Object.assign(front, { isLogX: spansDecades(front.x, shownRows()), isLogY: spansDecades(front.y, shownRows()) });
  const controls = section.querySelector(".controls");
  const setter = (key) => (value) => {
    front[key] = value;
    draw();
  };
  const ticks = {};
  const place = (key, log) => (name) => { // another column has a scale of its own
    front[key] = column(name);
    front[log] = ticks[log].checked = spansDecades(front[key], shownRows());
    draw();
  };
  choice(controls, "x", namesOf(numeric), front.x.name, place("x", "isLogX"));
  tick(controls, "more of x is better", false, setter("isMoreX"));
  choice(controls, "y", namesOf(numeric), front.y.name, place("y", "isLogY"));
  tick(controls, "more of y is better", false, setter("isMoreY"));
  for (const [key, label] of [["isLogX", "logarithmic x"], ["isLogY", "logarithmic y"]]) {
    ticks[key] = tick(controls, label, front[key], setter(key));
  }
  if (few.length) {
    choice(controls, "colour", [["", "(none)"], ...namesOf(few)], front.series.name, (name) => setter("series")(column(name)));
  }
  points.listeners.push(draw);
  await draw();
  figure.on("plotly_click", ({ points: [{ customdata: rows }] }) => lookAt(rows));
}
