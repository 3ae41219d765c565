// Reads the data in a page, and writes numbers for people.
"use strict";

const page = JSON.parse(document.getElementById("page-data").textContent);
const ARRAYS = { uint8: Uint8Array, int32: Int32Array, float32: Float32Array, float64: Float64Array };
const SECONDS = { exponentformat: "SI", minexponent: 0, ticksuffix: "s" }; // an axis with ticks such as 20ms
const CONFIG = { responsive: true, displaylogo: false };

async function unpacked(array) {
  const bytes = Uint8Array.from(atob(array.content), (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new ARRAYS[array.dtype](await new Response(plain).arrayBuffer());
}

async function unpackedAll(arrays) {
  const names = Object.keys(arrays);
  const values = await Promise.all(names.map((name) => unpacked(arrays[name])));
  return Object.fromEntries(names.map((name, i) => [name, values[i]]));
}

function words(name) {
  return page.kind_words[name] ?? name.replaceAll("_", " ");
}

function escaped(text) { // for plotly, which takes tags and entities of any label as markup
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function withUnit(value, units) {
  let at = 0;
  while (at + 1 < units.length && value !== 0 && Math.abs(value) < units[at][0]) at++;
  return `${Number((value / units[at][0]).toPrecision(4))} ${units[at][1]}`;
}

const time = (seconds) => withUnit(seconds, [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]]);
const size = (bytes) => (bytes ? withUnit(bytes, [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]) : "0 B");
