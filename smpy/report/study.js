// Draws the page of a study.
"use strict";

(async () => {
  await readPoints();
  if (points.n) {
    drawTable();
    listenForPoints();
    drawInView((figure) => (figure.dataset.figure === "compared" ? drawCompared(figure) : drawFront(figure)));
    await showPoint();
  }
  document.body.dataset.isReady = "yes";
})();
