// Asks for the parts of a page that live, every data-live seconds, while somebody sees the page.
"use strict";
(() => {
  const age = new WeakMap();
  setInterval(() => {
    if (document.visibilityState !== "visible") return;
    for (const part of document.querySelectorAll("[data-live]")) {
      const seconds = (age.get(part) || 0) + 1;
      // Whoever is in there with the keyboard would lose their place.
      const due = seconds >= Number(part.dataset.live) && !part.contains(document.activeElement);
      age.set(part, due ? 0 : seconds);
      if (due) window.htmx.trigger(part, "live");
    }
  }, 1000);
})();
