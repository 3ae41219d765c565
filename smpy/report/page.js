// Draws the figures of a report from the data in the page, each when it comes into view.
"use strict";

const COLOURS = {
  compute: "#5aa469", sleep: "#c9c9c9", overhead: "#8c6bb1", polling: "#d48fc4", probing: "#efc6e4", io: "#8a6d3b", device: "#1f8a8a",
  transfer: "#3f7fd0", late_sender: "#e0452f", late_receiver: "#f7a650", late_members: "#9e1b32", idle: "#ececec", skipped: "#f4e7b4",
};
const COLUMNS_MAX = 1600; // of a picture
const ROWS_MAX = 1024;
const LINES_MAX = 1000;
const NAMES_MAX = 40; // of rows
const CELLS_MAX = 500; // of the matrix, in each direction

function shownAt(position, perRow) { // of the timeline
  const names = page.timeline.names;
  const first = Math.floor(position / perRow) * perRow;
  if (!names) return ranksFrom(first, first + perRow);
  const last = Math.min(first + perRow, names.length) - 1;
  return first === last ? names[first] : `${names[first]} to ${names[last]}`;
}

function ranksFrom(first, end) {
  const last = Math.min(end, page.ranks.length) - 1;
  return first === last ? `rank ${page.ranks[first]}` : `ranks ${page.ranks[first]} to ${page.ranks[last]}`;
}

function tell(figure, text) {
  figure.parentElement.querySelector(".told").textContent = text;
}

// ---- time of call sites and of ranks ----

function drawSites(figure) {
  const { labels, spent_s: spent, kinds } = page.sites;
  const bars = kinds.map((kind, k) => ({
    type: "bar", orientation: "h", name: escaped(words(kind)), y: labels.map(escaped), x: spent.map((of) => of[k]), marker: { color: COLOURS[kind] },
  }));
  const layout = {
    barmode: "stack", height: 180 + 26 * labels.length, margin: { l: 10, t: 40 }, yaxis: { autorange: "reversed", automargin: true },
    xaxis: { ...SECONDS, title: { text: "time of all ranks together" } }, legend: { traceorder: "normal" },
  };
  return Plotly.newPlot(figure, bars.filter((bar) => bar.x.some(Boolean)), layout, CONFIG);
}

async function drawRanks(figure) {
  const { kinds } = page.timeline;
  const { per_row: perRow, n_rows: nRows } = page.rank_rows;
  const spent = await unpacked(page.time_by_row);
  const x = Array.from({ length: nRows }, (_, row) => row * perRow);
  const areas = kinds.map((kind, k) => ({
    type: "scatter", mode: "lines", stackgroup: "kinds", name: words(kind), x, y: x.map((_, row) => spent[row * kinds.length + k] / perRow),
    line: { shape: "hvh", width: 0 }, fillcolor: COLOURS[kind], hovertemplate: "%{y:.4~s}s",
  }));
  const layout = {
    height: 320, margin: { t: 40 }, hovermode: "x unified", legend: { traceorder: "normal" },
    xaxis: { title: { text: page.is_of_all ? "rank" : "traced ranks, counted" } },
    yaxis: { ...SECONDS, title: { text: "time" } },
  };
  return Plotly.newPlot(figure, areas.filter((area) => area.y.some(Boolean)), layout, CONFIG);
}

// ---- messages and links ----

async function drawMatrix(figure) {
  const { n_rows: n, per_row: perRow } = page.rank_rows;
  const sent = await unpacked(page.messages.matrix);
  const most = sent.reduce((a, b) => Math.max(a, b), 1);
  const least = sent.reduce((a, b) => (b ? Math.min(a, b) : a), most);
  const ticks = most > least ? [least, Math.sqrt(least * most), most] : [most];
  const layout = {
    height: 700, width: 760, margin: { t: 40 }, xaxis: { title: { text: "target" }, range: [-0.5, n * perRow - 0.5] },
    yaxis: { title: { text: "source" }, range: [n * perRow - 0.5, -0.5] },
  };

  let shown; // what the picture shows: from which row and column on, how many to a cell, and their sums
  function map() {
    const { xaxis, yaxis } = figure.layout ?? layout;
    const [[left, right], [top, bottom]] = [xaxis, yaxis].map(({ range }) => {
      const [low, high] = [...range].sort((a, b) => a - b);
      return [Math.max(0, Math.floor((low + 0.5) / perRow)), Math.min(n, Math.ceil((high + 0.5) / perRow))];
    });
    const per = Math.max(1, Math.ceil(Math.max(right - left, bottom - top) / CELLS_MAX));
    const sums = [];
    for (let row = top; row < bottom; row++) {
      const at = Math.floor((row - top) / per);
      sums[at] ??= new Float64Array(Math.ceil((right - left) / per));
      for (let column = left; column < right; column++) sums[at][Math.floor((column - left) / per)] += sent[row * n + column];
    }
    shown = { left, top, per, sums };
    const centre = (per * perRow - 1) / 2;
    return {
      type: "heatmap", z: sums.map((row) => row.map((bytes) => (bytes ? Math.log10(bytes) : NaN))), hoverinfo: "none",
      x0: left * perRow + centre, dx: per * perRow, y0: top * perRow + centre, dy: per * perRow,
      colorscale: "Viridis", reversescale: true, zmin: Math.log10(least) - 0.01, zmax: Math.log10(most),
      colorbar: { title: { text: "sent" }, tickvals: ticks.map(Math.log10), ticktext: ticks.map(size) },
    };
  }

  await Plotly.newPlot(figure, [map()], layout, { displaylogo: false });
  figure.on("plotly_relayout", () => Plotly.react(figure, [map()], figure.layout, { displaylogo: false }));
  figure.on("plotly_hover", ({ points: [{ x, y }] }) => {
    const { left, top, per, sums } = shown;
    const bytes = sums[Math.floor((y / perRow - top) / per)][Math.floor((x / perRow - left) / per)];
    const [source, target] = [[y, top], [x, left]].map(([at, first]) => {
      const cell = first + Math.floor((at / perRow - first) / per) * per;
      return ranksFrom(cell * perRow, (cell + per) * perRow);
    });
    tell(figure, `${source} to ${target}: ${bytes ? size(bytes) : "nothing"}`);
  });
}

function drawLinks(figure) {
  const { link, busy, saturated } = page.links;
  const bar = (name, x, color) => ({ type: "bar", orientation: "h", name, y: link.map(escaped), x, marker: { color } });
  const layout = {
    barmode: "overlay", height: 180 + 22 * link.length, margin: { l: 10, t: 40 },
    yaxis: { type: "category", autorange: "reversed", automargin: true }, xaxis: { title: { text: "share of the makespan" }, tickformat: ".0%" },
  };
  return Plotly.newPlot(figure, [bar("busy", busy, "#a9c7ea"), bar("saturated", saturated, "#e0452f")], layout, CONFIG);
}

// ---- the timeline ----

class Bins {
  // Levels of [rows, bins], each bin with its kind; those of a level are twice as wide as those of the one before.
  constructor(timeline, levels) {
    this.timeline = timeline;
    this.levels = levels;
  }

  picture(firstS, lastS, first, last) {
    const { first_s: from, last_s: to, n_rows: nRows, per_row: perRow } = this.timeline;
    const span = to - from;
    let at = 0;
    const nBins = () => this.levels[at].length / nRows;
    while (at + 1 < this.levels.length && (nBins() * (lastS - firstS)) / span > COLUMNS_MAX) at++;
    const n = nBins();
    const begin = Math.max(0, Math.floor(((firstS - from) / span) * n));
    const end = Math.min(n, Math.ceil(((lastS - from) / span) * n));
    const z = [];
    const firstRow = Math.floor(first / perRow);
    for (let row = firstRow; row * perRow < last; row++) z.push(this.levels[at].subarray(row * n + begin, row * n + end));
    return { z, x0: from + ((begin + 0.5) * span) / n, dx: span / n, y0: firstRow * perRow + (perRow - 1) / 2, dy: perRow };
  }

  at(_seconds, position, kind) {
    return `${shownAt(position, this.timeline.per_row)}: mostly ${words(kind)}`;
  }
}

class Exact {
  // All intervals, by rank or thread, and date.
  constructor(timeline, columns) {
    this.timeline = timeline;
    Object.assign(this, columns);
  }

  after(position, seconds) { // of the rank's or thread's intervals, the first one that ends later
    let low = this.first[position];
    let high = this.first[position + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end_s[middle] <= seconds) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  picture(firstS, lastS, first, last) {
    const nKinds = this.timeline.kinds.length;
    const perRow = Math.ceil((last - first) / ROWS_MAX);
    const width = (lastS - firstS) / COLUMNS_MAX;
    const spent = new Float64Array(COLUMNS_MAX * nKinds);
    const z = [];
    for (let of = first; of < last; of += perRow) {
      spent.fill(0);
      for (let position = of; position < Math.min(of + perRow, last); position++) {
        for (let i = this.after(position, firstS); i < this.first[position + 1] && this.start_s[i] < lastS; i++) {
          const begin = Math.max(0, (this.start_s[i] - firstS) / width);
          const end = Math.min(COLUMNS_MAX, (this.end_s[i] - firstS) / width);
          for (let bin = Math.floor(begin); bin < end; bin++) {
            spent[bin * nKinds + this.kind[i]] += Math.min(end, bin + 1) - Math.max(begin, bin);
          }
        }
      }
      z.push(this.kindsOf(spent, nKinds));
    }
    return { z, x0: firstS + width / 2, dx: width, y0: first + (perRow - 1) / 2, dy: perRow };
  }

  kindsOf(spent, nKinds) {
    const row = new Uint8Array(COLUMNS_MAX).fill(nKinds);
    for (let bin = 0; bin < COLUMNS_MAX; bin++) {
      let most = 0;
      for (let kind = 0; kind < nKinds; kind++) {
        if (spent[bin * nKinds + kind] > most) {
          most = spent[bin * nKinds + kind];
          row[bin] = kind;
        }
      }
    }
    return row;
  }

  at(seconds, position, kind) {
    const i = this.after(position, seconds);
    if (i >= this.first[position + 1] || this.start_s[i] > seconds) return shownAt(position, 1);
    const label = page.labels[this.label[i]];
    const other = this.other[i] < 0 ? "" : `, for rank ${this.other[i]}`;
    const length = time(this.end_s[i] - this.start_s[i]);
    const kindHere = words(this.timeline.kinds[this.kind[i]]);
    return `${shownAt(position, 1)}: ${kindHere}${other}${label ? `, ${label}` : ""}, ${length} from ${time(this.start_s[i])} on`;
  }
}

function lines(drawn, firstS, lastS, first, last) {
  const x = [];
  const y = [];
  for (let i = 0; i < drawn.source.length && x.length < 3 * LINES_MAX; i++) {
    const [top, bottom] = [drawn.source[i], drawn.target[i]].sort((a, b) => a - b);
    if (drawn.ended_s[i] < firstS || drawn.sent_s[i] > lastS || bottom < first || top >= last) continue;
    x.push(drawn.sent_s[i], drawn.ended_s[i], null);
    y.push(drawn.source[i], drawn.target[i], null);
  }
  return { type: "scatter", mode: "lines", x, y, hoverinfo: "skip", showlegend: false, line: { color: "rgba(0,0,0,0.3)", width: 1 } };
}

async function drawTimeline(figure) {
  const { kinds, first_s: from, last_s: to, names } = page.timeline;
  const source = page.timeline.exact
    ? new Exact(page.timeline, await unpackedAll(page.timeline.exact))
    : new Bins(page.timeline, await Promise.all(page.timeline.levels.map(unpacked)));
  const drawn = await unpackedAll(page.messages.drawn);
  const n = (names ?? page.ranks).length;
  const rowsAre = names ? "ranks and threads, counted" : page.is_of_all ? "rank" : "traced ranks, counted";
  const scale = [...kinds.map((kind) => COLOURS[kind]), "#ffffff"]; // the last one: nothing was recorded
  const colorscale = scale.flatMap((colour, k) => [[k / scale.length, colour], [(k + 1) / scale.length, colour]]);
  const showsMessages = document.getElementById("shows-messages");
  showsMessages.checked = n <= 64;
  const layout = {
    height: 120 + Math.max(140, Math.min(24 * n, 640), page.timeline.n_rows), margin: { t: 40 }, dragmode: "zoom",
    xaxis: { ...SECONDS, title: { text: "simulated time" }, range: [from, to] },
    yaxis: { title: { text: rowsAre }, range: [n - 0.5, -0.5] },
  };
  if (names && n <= NAMES_MAX) {
    Object.assign(layout.yaxis, { title: {}, automargin: true, tickvals: [...names.keys()], ticktext: names.map(escaped) });
  }

  function traces() {
    const [firstS, lastS] = figure.layout ? figure.layout.xaxis.range : layout.xaxis.range;
    const rows = [...(figure.layout ? figure.layout.yaxis.range : layout.yaxis.range)].sort((a, b) => a - b);
    const view = [
      Math.max(from, Number(firstS)), Math.min(to, Number(lastS)),
      Math.max(0, Math.floor(rows[0] + 0.5)), Math.min(n, Math.ceil(rows[1] + 0.5)),
    ];
    if (!(view[1] > view[0] && view[3] > view[2])) return [];
    const map = {
      type: "heatmap", ...source.picture(...view), colorscale, zmin: -0.5, zmax: scale.length - 0.5, zsmooth: false, showscale: false,
      hoverinfo: "none",
    };
    return showsMessages.checked ? [map, lines(drawn, ...view)] : [map];
  }

  let waits = 0;
  function draw() {
    clearTimeout(waits);
    waits = setTimeout(() => Plotly.react(figure, traces(), figure.layout, CONFIG), 50);
  }

  await Plotly.newPlot(figure, traces(), layout, CONFIG);
  figure.on("plotly_relayout", draw);
  showsMessages.addEventListener("change", draw);
  figure.on("plotly_hover", (event) => {
    const point = event.points[0];
    if (point.z === undefined) return;
    const position = Math.max(0, Math.min(n - 1, Math.round(point.y)));
    tell(figure, `${time(point.x)}: ${source.at(point.x, position, kinds[point.z] ?? "nothing")}`);
  });
}

// ---- all of them ----

const DRAWERS = {
  sites: drawSites, ranks: drawRanks, stack_times: drawStackBars, stacks: drawStacks, matrix: drawMatrix, links: drawLinks, timeline: drawTimeline,
};

async function draw(figure) {
  const name = figure.dataset.figure;
  if (DRAWERS[name]) await DRAWERS[name](figure);
  else await Plotly.newPlot(figure, page.figures[name].data, page.figures[name].layout, CONFIG);
}

drawInView(draw);
for (const legend of document.querySelectorAll(".legend")) {
  for (const kind of page.timeline.kinds) {
    const entry = legend.appendChild(document.createElement("span"));
    entry.appendChild(document.createElement("i")).style.background = COLOURS[kind];
    entry.append(words(kind));
  }
}
