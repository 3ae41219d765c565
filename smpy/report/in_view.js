// Draws each figure when it comes into view, or all when they are to be printed, and notes which are drawn.
"use strict";

function drawInView(draw) {
  const waiting = new Set(document.querySelectorAll("[data-figure]"));
  const begin = (figure) => {
    if (waiting.delete(figure)) Promise.resolve(draw(figure)).then(() => (figure.dataset.isDrawn = "yes"));
  };
  const inView = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => begin(entry.target)),
    { rootMargin: "200px" },
  );
  for (const figure of waiting) inView.observe(figure);
  window.addEventListener("beforeprint", () => [...waiting].forEach(begin));
}
