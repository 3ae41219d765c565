// Draws measured computing by call stack: bars over time, and below them the stacks of the rank and the time that are chosen.
"use strict";

const SHARE_MIN = 1e-3; // of the time shown: thinner boxes are left out
const chosen = { ranks: -1, first: 0, last: Infinity }; // a number of `times.ranks`, -1: all; and windows
let stackTimes; // columns

async function readStackTimes() {
  stackTimes ??= unpackedAll(page.call_stacks.times);
  return stackTimes;
}

function ranksOf(cell) {
  const { ranks_per_cell: perCell, n_ranks: n } = page.call_stacks;
  const [first, last] = [cell * perCell, Math.min((cell + 1) * perCell, n) - 1];
  return first === last ? `rank ${first}` : `ranks ${first} to ${last}`;
}

function isOfRanks(times, i) {
  return chosen.ranks < 0 || times.ranks[i] === chosen.ranks;
}

function bars(times) { // seconds by window
  const { window_s: width, n_windows: n } = page.call_stacks;
  const spent = new Float64Array(n);
  for (let i = 0; i < times.call.length; i++) if (isOfRanks(times, i)) spent[times.window[i]] += times.seconds[i];
  const x = Array.from(spent, (_, window) => (window + 0.5) * width);
  return { type: "bar", x, y: [...spent], width, marker: { color: COLOURS.compute }, hovertemplate: "%{y:.4~s}s<extra></extra>" };
}

function stackSums(times) { // seconds by call, those of further calls included
  const { callers } = page.call_stacks;
  const spent = new Float64Array(callers.length);
  for (let i = 0; i < times.call.length; i++) {
    const isChosen = isOfRanks(times, i) && times.window[i] >= chosen.first && times.window[i] < chosen.last;
    if (isChosen) spent[times.call[i]] += times.seconds[i];
  }
  for (let call = callers.length - 1; call >= 0; call--) if (callers[call] >= 0) spent[callers[call]] += spent[call];
  return spent;
}

function colour(name) { // the same for the same function anywhere
  let hash = 7;
  for (const letter of name) hash = (hash * 31 + letter.codePointAt(0)) % 9973;
  return `hsl(${18 + (hash % 40)}, 75%, ${66 + (hash % 13)}%)`;
}

function stacksTrace(spent) {
  const { callers, names, files, is_line: isLine } = page.call_stacks;
  const whole = spent.reduce((sum, seconds, call) => (callers[call] < 0 ? sum + seconds : sum), 0);
  const shown = [...spent.keys()].filter((call) => spent[call] > 0 && spent[call] >= SHARE_MIN * whole);
  const told = (call) => `${escaped(names[call])}<br>${escaped(files[call])}<br>${time(spent[call])}`;
  return {
    type: "icicle", branchvalues: "total", sort: false, tiling: { orientation: "v" }, root: { color: "#e8ecef" }, maxdepth: -1,
    ids: ["all", ...shown.map(String)], labels: ["user code", ...shown.map((call) => escaped(names[call]))],
    parents: ["", ...shown.map((call) => (callers[call] < 0 ? "all" : String(callers[call])))], values: [whole, ...shown.map((call) => spent[call])],
    marker: { colors: ["#e8ecef", ...shown.map((call) => (isLine[call] ? "#dfe5ea" : colour(names[call])))] },
    text: [`user code<br>${time(whole)}`, ...shown.map(told)], textinfo: "label", hovertemplate: "%{text}, %{percentRoot:.1%}<extra></extra>",
  };
}

async function drawStackBars(figure) {
  const times = await readStackTimes();
  const { window_s: width, n_windows: n, n_cells: nCells } = page.call_stacks;
  const layout = {
    height: 200, margin: { t: 10, b: 45 }, bargap: 0, dragmode: "zoom", xaxis: { ...SECONDS, title: { text: "simulated time" }, range: [0, n * width] },
    yaxis: { ...SECONDS, title: { text: "computing" }, fixedrange: true },
  };
  const flames = document.querySelector("[data-figure=stacks]");
  const redraw = () => flames.dataset.isDrawn && drawStacks(flames);
  await Plotly.newPlot(figure, [bars(times)], layout, CONFIG);
  figure.on("plotly_relayout", () => {
    const [first, last] = figure.layout.xaxis.range;
    Object.assign(chosen, { first: Math.max(0, Math.floor(first / width)), last: Math.max(Math.ceil(last / width), Math.floor(first / width) + 1) });
    redraw();
  });
  const rank = document.getElementById("stack-rank");
  rank.max = page.call_stacks.n_ranks - 1;
  rank.addEventListener("change", () => {
    const cell = Math.floor(rank.value / page.call_stacks.ranks_per_cell);
    chosen.ranks = rank.value === "" || cell < 0 || cell >= nCells ? -1 : cell;
    Plotly.react(figure, [bars(times)], figure.layout, CONFIG);
    redraw();
  });
}

async function drawStacks(figure) {
  const { window_s: width, n_windows: n } = page.call_stacks;
  const spent = stackSums(await readStackTimes());
  const depth = page.call_stacks.depth + 1;
  const layout = { height: 60 + 30 * depth, margin: { t: 10, l: 10, r: 10, b: 10 } };
  await Plotly.react(figure, [stacksTrace(spent)], layout, CONFIG);
  const [first, last] = [chosen.first, Math.min(chosen.last, n)];
  const who = chosen.ranks < 0 ? "all ranks" : ranksOf(chosen.ranks);
  tell(figure, `${who}, from ${time(first * width)} to ${time(last * width)}`);
}
