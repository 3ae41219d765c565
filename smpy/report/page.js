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
const TILES_MAX = 40; // that a view loads
const TILES_KEPT = 120;
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
  // Levels of [rows, bins], each bin with its kind and its label; those of a level are twice as wide as those of the one before.
  constructor(timeline, levels, labels) {
    Object.assign(this, { timeline, levels, labels });
  }

  levelFor(seconds) {
    const { first_s: from, last_s: to, n_rows: nRows } = this.timeline;
    let at = 0;
    while (at + 1 < this.levels.length && ((this.levels[at].length / nRows) * seconds) / (to - from) > COLUMNS_MAX) at++;
    return [at, this.levels[at].length / nRows];
  }

  picture(firstS, lastS, first, last) {
    const { first_s: from, last_s: to, per_row: perRow } = this.timeline;
    const span = to - from;
    const [at, n] = this.levelFor(lastS - firstS);
    const begin = Math.max(0, Math.floor(((firstS - from) / span) * n));
    const end = Math.min(n, Math.ceil(((lastS - from) / span) * n));
    const z = [];
    const firstRow = Math.floor(first / perRow);
    for (let row = firstRow; row * perRow < last; row++) z.push(this.levels[at].subarray(row * n + begin, row * n + end));
    return { z, x0: from + ((begin + 0.5) * span) / n, dx: span / n, y0: firstRow * perRow + (perRow - 1) / 2, dy: perRow };
  }

  at(seconds, position, viewS) {
    const { first_s: from, last_s: to, kinds, per_row: perRow } = this.timeline;
    const [level, n] = this.levelFor(viewS);
    const bin = Math.min(n - 1, Math.floor(((seconds - from) / (to - from)) * n));
    const cell = Math.floor(position / perRow) * n + bin;
    const kind = kinds[this.levels[level][cell]];
    const label = kind ? page.labels[this.labels[level][cell]] : "";
    return `${shownAt(position, perRow)}: mostly ${kind ? words(kind) : "nothing"}${label ? `, ${label}` : ""}`;
  }
}

class Intervals {
  // Intervals by rank or thread, from a first one on, and date; of a tile, those that touch its time.
  constructor(columns, firstPlace = 0, fromS = -Infinity, toS = Infinity) {
    Object.assign(this, columns, { firstPlace, fromS, toS });
  }

  after(position, seconds) { // of the rank's or thread's intervals, the first one that ends later
    let low = this.first[position - this.firstPlace];
    let high = this.first[position - this.firstPlace + 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.end_s[middle] <= seconds) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  addTo(spent, nKinds, position, firstS, lastS, width) { // time in each column of a view
    const [from, to] = [Math.max(firstS, this.fromS), Math.min(lastS, this.toS)];
    const last = this.first[position - this.firstPlace + 1];
    for (let i = this.after(position, from); i < last && this.start_s[i] < to; i++) {
      const begin = (Math.max(this.start_s[i], from) - firstS) / width;
      const end = Math.min(COLUMNS_MAX, (Math.min(this.end_s[i], to) - firstS) / width);
      for (let bin = Math.floor(begin); bin < end; bin++) {
        spent[bin * nKinds + this.kind[i]] += Math.min(end, bin + 1) - Math.max(begin, bin);
      }
    }
  }

  at(seconds, position) {
    const i = this.after(position, seconds);
    if (i >= this.first[position - this.firstPlace + 1] || this.start_s[i] > seconds) return shownAt(position, 1);
    const label = page.labels[this.label[i]];
    const other = this.other[i] < 0 ? "" : `, for rank ${this.other[i]}`;
    const length = time(this.end_s[i] - this.start_s[i]);
    const kindHere = words(page.timeline.kinds[this.kind[i]]);
    return `${shownAt(position, 1)}: ${kindHere}${other}${label ? `, ${label}` : ""}, ${length} from ${time(this.start_s[i])} on`;
  }
}

function exactPicture(nKinds, tilesOf, firstS, lastS, first, last) { // tilesOf: the tiles with intervals of a position
  const perRow = Math.ceil((last - first) / ROWS_MAX);
  const width = (lastS - firstS) / COLUMNS_MAX;
  const spent = new Float64Array(COLUMNS_MAX * nKinds);
  const z = [];
  for (let of = first; of < last; of += perRow) {
    spent.fill(0);
    for (let position = of; position < Math.min(of + perRow, last); position++) {
      for (const tile of tilesOf(position)) tile.addTo(spent, nKinds, position, firstS, lastS, width);
    }
    z.push(kindsOf(spent, nKinds));
  }
  return { z, x0: firstS + width / 2, dx: width, y0: first + (perRow - 1) / 2, dy: perRow };
}

function kindsOf(spent, nKinds) {
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

class Exact {
  constructor(timeline, columns) {
    this.nKinds = timeline.kinds.length;
    this.all = [new Intervals(columns)];
  }

  picture(...view) {
    return exactPicture(this.nKinds, () => this.all, ...view);
  }

  at(seconds, position) {
    return this.all[0].at(seconds, position);
  }

  messages(drawn) {
    return [drawn];
  }
}

class Tiled {
  // Bins, and tiles that take their place once the view has few of them and they are loaded.
  constructor(timeline, bins, redraw, tellOf) {
    Object.assign(this, { timeline, bins, redraw, tellOf, loaded: new Map(), missing: new Set(), shown: undefined });
  }

  tilesIn(firstS, lastS, first, last) { // pairs of a block of rows and a slab of time
    const { edges_s: edges, places_per_block: perBlock, n_blocks: nBlocks } = this.timeline.tiles;
    const found = [];
    for (let block = Math.floor(first / perBlock); block < nBlocks && block * perBlock < last; block++) {
      for (let slab = 0; slab + 1 < edges.length; slab++) {
        if (edges[slab] < lastS && edges[slab + 1] > firstS) found.push([block, slab]);
      }
    }
    return found;
  }

  picture(...view) {
    const wanted = this.tilesIn(...view);
    this.shown = undefined;
    this.viewS = view[1] - view[0];
    if (wanted.length > TILES_MAX) return this.bins.picture(...view);
    for (const tile of wanted) this.load(tile);
    if (!wanted.every((tile) => this.loaded.get(tile.join("-"))?.intervals)) return this.bins.picture(...view);
    this.shown = wanted.map((tile) => [tile[0], this.loaded.get(tile.join("-"))]);
    const perBlock = this.timeline.tiles.places_per_block;
    const tilesOf = (position) => {
      const block = Math.floor(position / perBlock);
      return this.shown.filter(([of]) => of === block).map(([, { intervals }]) => intervals);
    };
    return exactPicture(this.timeline.kinds.length, tilesOf, ...view);
  }

  load([block, slab]) {
    const name = `${block}-${slab}`;
    if (this.missing.has(name)) return;
    const known = this.loaded.get(name);
    this.loaded.delete(name);
    this.loaded.set(name, known ?? {}); // the last used one at the end
    for (const old of this.loaded.keys()) {
      if (this.loaded.size <= TILES_KEPT) break;
      this.loaded.delete(old);
    }
    if (known) return;
    const script = document.createElement("script");
    script.src = `${this.timeline.folder}/${name}.js`;
    script.onload = () => script.remove();
    script.onerror = () => this.lack(name, "is not beside this page");
    document.head.append(script);
  }

  lack(name, why) {
    this.missing.add(name);
    this.loaded.delete(name);
    this.tellOf(`Tile ${name} of the folder ${decodeURIComponent(this.timeline.folder)} ${why}: the picture is coarse.`);
  }

  async add(stamp, name, { intervals, messages }) {
    if (stamp !== this.timeline.tiles.stamp) {
      this.lack(name, "belongs to another page");
      return;
    }
    const [block, slab] = name.split("-").map(Number);
    const { edges_s: edges, places_per_block: perBlock } = this.timeline.tiles;
    const [columns, drawn] = await Promise.all([unpackedAll(intervals), unpackedAll(messages)]);
    const tile = this.loaded.get(name);
    if (!tile) return; // others were wanted since
    Object.assign(tile, { intervals: new Intervals(columns, block * perBlock, edges[slab], edges[slab + 1]), drawn });
    if ([...this.loaded.values()].every((one) => one.intervals)) this.redraw();
  }

  at(seconds, position) {
    if (!this.shown) return this.bins.at(seconds, position, this.viewS);
    const tile = this.shown.find(([, { intervals: { firstPlace, first, fromS, toS } }]) =>
      position >= firstPlace && position < firstPlace + first.length - 1 && seconds >= fromS && seconds <= toS);
    return tile ? tile[1].intervals.at(seconds, position) : shownAt(position, 1);
  }

  messages(drawn) { // those of the tiles; the longest of all pass over tiles, too
    return this.shown ? [...this.shown.map(([, tile]) => tile.drawn), drawn] : [drawn];
  }
}

let addTile; // a tile's file calls it

function lines(sources, firstS, lastS, first, last) {
  const [x, y, text, seen] = [[], [], [], new Set()];
  for (const drawn of sources) {
    for (let i = 0; i < drawn.source.length && x.length < 3 * LINES_MAX; i++) {
      const [top, bottom] = [drawn.source[i], drawn.target[i]].sort((a, b) => a - b);
      if (drawn.ended_s[i] < firstS || drawn.sent_s[i] > lastS || bottom < first || top >= last) continue;
      const key = [drawn.source[i], drawn.target[i], drawn.sent_s[i], drawn.ended_s[i], drawn.bytes[i]].join();
      if (sources.length > 1 && seen.has(key)) continue; // a message stands in the tiles of both of its ends
      seen.add(key);
      x.push(drawn.sent_s[i], drawn.ended_s[i], null);
      y.push(drawn.source[i], drawn.target[i], null);
      text.push(...Array(3).fill(messageText(drawn, i)));
    }
  }
  const line = { color: "rgba(0,0,0,0.3)", width: 1 };
  return { type: "scatter", mode: "lines", x, y, text, hoverinfo: "none", showlegend: false, line };
}

function messageText(drawn, i) {
  const calls = [drawn.send_label[i], drawn.receive_label[i]].map((label) => page.labels[label]).filter(Boolean);
  const who = `${shownAt(drawn.source[i], 1)} to ${shownAt(drawn.target[i], 1)}`;
  return [`message from ${who}`, size(drawn.bytes[i]), ...calls, `${time(drawn.ended_s[i] - drawn.sent_s[i])} from send to end`].join(", ");
}

async function drawTimeline(figure) {
  let waits = 0;
  const { kinds, first_s: from, last_s: to, names } = page.timeline;
  const allOf = (arrays) => Promise.all(arrays.map(unpacked));
  const source = page.timeline.exact
    ? new Exact(page.timeline, await unpackedAll(page.timeline.exact))
    : new Tiled(
      page.timeline, new Bins(page.timeline, await allOf(page.timeline.levels), await allOf(page.timeline.labels)), draw,
      (text) => tell(figure, text),
    );
  addTile = (...tile) => source.add(...tile);
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
    return showsMessages.checked ? [map, lines(source.messages(drawn), ...view)] : [map];
  }

  function draw() {
    clearTimeout(waits);
    waits = setTimeout(() => Plotly.react(figure, traces(), figure.layout, CONFIG), 50);
  }

  await Plotly.newPlot(figure, traces(), layout, CONFIG);
  figure.on("plotly_relayout", draw);
  showsMessages.addEventListener("change", draw);
  figure.on("plotly_hover", (event) => {
    const point = event.points[0];
    const position = Math.max(0, Math.min(n - 1, Math.round(point.y)));
    tell(figure, point.z === undefined ? point.text : `${time(point.x)}: ${source.at(point.x, position)}`);
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
