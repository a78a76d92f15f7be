// A figure fills the screen, with its sliders: for a lecture room. Escape, or the button, ends it.
(() => {
  if (!document.fullscreenEnabled) return;
  const names = ["Show full screen", "Leave full screen"];
  const corners = '<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">' +
    '<path d="M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4" fill="none" stroke="currentColor" ' +
    'stroke-width="1.6"/></svg>';
  const label = (button, shown) => {
    button.title = names[+shown];
    button.setAttribute("aria-label", names[+shown]);
  };
  for (const figure of document.querySelectorAll(".explorer, .picture")) {
    if (!figure.querySelector("svg")) continue;
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "present", innerHTML: corners });
    label(button, false);
    button.addEventListener("click", () =>
      document.fullscreenElement ? document.exitFullscreen() : figure.requestFullscreen(),
    );
    figure.addEventListener("fullscreenchange", () =>
      label(button, document.fullscreenElement === figure),
    );
    figure.append(button);
  }
})();
