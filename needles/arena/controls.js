// The figure comes to life: what each control does.

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

function listen(ui, run, facts) {
  ui.step.addEventListener("click", () => run.take(1));
  ui.batch.addEventListener("click", () => run.take(BATCH));
  ui.many.addEventListener("click", () => run.take(MANY));
  ui.restart.addEventListener("click", () => run.restart());
  ui.play.addEventListener("click", () => run.playOrPause());
  ui.target.addEventListener("change", () => run.begin(null, true));
  ui.algorithm.addEventListener("change", () => {
    run.showSettings();
    run.restart(run.tellAlgorithm());
  });
  ui.settings.addEventListener("input", ({ target: slider }) => {
    const name = slider.dataset.setting;
    const value = facts.settings[name].values[slider.value];
    slider.setAttribute("aria-valuetext", value);
    slider.closest("div").querySelector("output").textContent = value;
    run.set(name, value);
  });
  ui.seed.addEventListener("change", () => run.restart());
  ui.from.addEventListener("change", () => run.estimateAgain());
  for (const box of [ui.startX, ui.startY]) {
    box.addEventListener("change", () => {
      run.moveStart([Number(ui.startX.value), Number(ui.startY.value)]);
    });
  }
  ui.canvas.addEventListener("click", (event) => {
    const { left, top } = ui.canvas.getBoundingClientRect();
    run.moveStartToPixels(event.clientX - left, event.clientY - top);
  });
  ui.marker.addEventListener("keydown", (event) => {
    const way = ARROWS[event.key];
    if (!way) return;
    event.preventDefault();
    const step = event.shiftKey ? 1 : 0.1;
    run.moveStartBy(step * way[0], step * way[1]);
  });
}

/** Readers who ask for less motion get no animation: they step, or take draws by the hundred. */
function honourMotion(ui, run) {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const honour = () => {
    if (still.matches) run.pause();
    ui.play.hidden = ui.speed.closest("label").hidden = still.matches;
  };
  still.addEventListener("change", honour);
  honour();
}

function followPage(ui, run) {
  new ResizeObserver(run.redraw).observe(ui.canvas.parentElement);
  // The book says its mode on <html>, JupyterLab on <body>.
  for (const page of [document.documentElement, document.body])
    new MutationObserver(run.redraw).observe(page, {
      attributeFilter: ["data-theme", "data-jp-theme-light"],
    });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", run.redraw);
}

function mount(root) {
  const facts = JSON.parse(root.dataset.facts);
  root.innerHTML = markup(facts);
  const ui = {};
  for (const node of root.querySelectorAll("[data-is]")) ui[node.dataset.is] = node;
  ui.seed.value = facts.start.seed;
  const run = createRun(root, ui, facts);
  run.begin(facts.start.position);
  listen(ui, run, facts);
  honourMotion(ui, run);
  followPage(ui, run);
}

for (const root of document.querySelectorAll(".arena:not([data-live])")) {
  root.dataset.live = "";
  mount(root);
}
