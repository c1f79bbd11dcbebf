// Appends what a log gained at data-tail, as text; stops when the log is closed.
"use strict";
(() => {
  const KEPT = 200000;
  for (const log of document.querySelectorAll("[data-tail]")) {
    let offset = Number(log.dataset.offset);
    const more = async () => {
      if (document.visibilityState !== "visible") return;
      const answer = await fetch(`${log.dataset.tail}&offset=${offset}`, { credentials: "same-origin" });
      if (!answer.ok || !answer.headers.get("Content-Type").includes("json")) return;
      const page = await answer.json();
      offset = page.next_offset;
      if (page.text) {
        const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 8;
        log.textContent = (log.textContent + page.text).slice(-KEPT);
        if (atEnd) log.scrollTop = log.scrollHeight;
      }
      if (page.over) clearInterval(timer);
    };
    const timer = setInterval(more, 2000);
    log.scrollTop = log.scrollHeight;
  }
})();
