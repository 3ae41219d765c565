// Draws each figure when it comes into view, and notes that it is drawn.
"use strict";

function drawInView(draw) {
  const inView = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      inView.unobserve(target);
      Promise.resolve(draw(target)).then(() => (target.dataset.isDrawn = "yes"));
    }
  }, { rootMargin: "200px" });
  for (const figure of document.querySelectorAll("[data-figure]")) inView.observe(figure);
}
