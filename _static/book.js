// A page opened from disk may not read another file, so its search results go without excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// A link to what has moved to another page goes on to it.
const goOn = () => {
  const moved = document.getElementById(location.hash.slice(1));
  if (moved?.matches("a.parted")) location.replace(moved.href);
};
addEventListener("DOMContentLoaded", goOn);
addEventListener("hashchange", goOn);

// On a phone the sections above a link's target are drawn only on arrival, and move it: go there
// again until they stand, unless the reader has gone elsewhere.
const arrive = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (!target || innerWidth > 767) return;
  const reader = new AbortController();
  for (const act of ["wheel", "touchstart", "keydown", "pointerdown"])
    addEventListener(act, () => reader.abort(), { signal: reader.signal });
  for (const wait of [0, 50, 150, 400, 800])
    setTimeout(() => {
      if (!reader.signal.aborted) target.scrollIntoView({ behavior: "instant", block: "start" });
      if (wait === 800) reader.abort();
    }, wait);
};
// Those who come back or reload are put by the browser where they were.
addEventListener("load", () => {
  if (performance.getEntriesByType("navigation")[0]?.type === "navigate") arrive();
});
addEventListener("hashchange", arrive);

// On a phone the lists of pages and of sections lie over the page: a link leads out of them.
addEventListener("click", ({ target }) => target.closest("dialog a")?.closest("dialog").close());

// What scrolls sideways can be scrolled with the keyboard; what does not is no stop on the way. All
// is measured, then all is marked: each change of the two would lay out the page again. A section
// that is not drawn yet (book.css) waits till it is.
const SCROLLING = "pre, .cell_output > .output, .pst-scrollable-table-container, .katex-display";
const SECTION = ".bd-article > section > section";
const waits = (section) =>
  section.firstElementChild?.checkVisibility?.({ contentVisibilityAuto: true }) === false;
const offerStops = () => {
  const waiting = new Set([...document.querySelectorAll(SECTION)].filter(waits));
  const boxes = [...document.querySelectorAll(SCROLLING)];
  const drawn = boxes.filter((box) => !waiting.has(box.closest(SECTION)));
  const stops = drawn.map((box) => box.scrollWidth > box.clientWidth);
  drawn.forEach((box, i) => {
    if (stops[i]) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  });
};
// A formula grows when its letters arrive, those of a card when it is turned.
addEventListener("load", () => document.fonts.ready.then(offerStops));
document.fonts.addEventListener("loadingdone", offerStops);
addEventListener("resize", offerStops);
document.addEventListener("toggle", offerStops, true);
document.addEventListener("contentvisibilityautostatechange", offerStops, true);
