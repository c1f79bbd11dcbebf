// Paints the price of the brush over the hours that the pointer passes; colours hours by price.
"use strict";
(() => {
  for (const form of document.querySelectorAll("[data-week]")) {
    const brush = form.querySelector("#brush");
    const cells = [...form.querySelectorAll("td input")];
    const shade = () => {
      const prices = cells.map((cell) => Number(cell.value));
      const low = Math.min(...prices), span = Math.max(...prices) - low || 1;
      cells.forEach((cell, i) => { cell.className = `busy-${Math.min(4, Math.floor(5 * (prices[i] - low) / span)) || 0}`; });
    };
    let painting = false;
    const paint = (target) => {
      if (target.matches?.("td input")) target.value = brush.value;
    };
    form.addEventListener("pointerdown", (event) => {
      painting = event.target.matches("td input") && brush.value !== "";
      // A click sets the keyboard into the hour as ever; drawing begins when the pointer leaves it.
    });
    form.addEventListener("pointerout", (event) => { if (painting) paint(event.target); });
    form.addEventListener("pointerover", (event) => { if (painting) paint(event.target); });
    addEventListener("pointerup", () => { if (painting) { painting = false; shade(); } });
    form.addEventListener("input", shade);
    shade();
  }
})();
