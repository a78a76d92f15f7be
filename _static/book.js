// A page opened from disk may not read another file, so its search results go without excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// What scrolls sideways can be scrolled with the keyboard; what does not is no stop on the way.
const offerStops = () => {
  for (const box of document.querySelectorAll(".katex-display, .output.text_html")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
};
addEventListener("load", () => {
  offerStops();
  document.fonts.ready.then(offerStops); // a formula may grow by a pixel when its letters arrive
});
addEventListener("resize", offerStops);
document.addEventListener("toggle", offerStops, true);
