// One run of the figure: the chosen target and settings, the chain, and the loop that plays.

const TELL_EVERY = 4000; // milliseconds between two sentences while the chain plays
const SLOW = 5; // draws a second up to which each move is shown as it happens
const FRAME_BUDGET = 8; // milliseconds of a frame that may go into moves

/** What the elements `ui` show; `facts` are what Python says of targets, algorithms, settings. */
function createRun(root, ui, facts) {
  const { targets, algorithms, start, alt } = facts;
  const colors = () => {
    const ink = getComputedStyle(root).color;
    // A thin dashed line needs more contrast on a dark page than the book's green has there.
    const { truth: green } = facts.colors;
    const truth = isLight(ink) ? `color-mix(in srgb, ${green} 55%, ${ink})` : green;
    return { ...facts.colors, ink, truth };
  };
  const picture = createPicture(ui.canvas, colors);
  const chosen = structuredClone(
    Object.fromEntries(Object.entries(algorithms).map(([name, { settings }]) => [name, settings])),
  );
  Object.assign(chosen[start.algorithm], start.settings);
  let position = start.position;
  let target = null;
  let chain = null;
  let move = null;
  let pending = null;
  let timer = 0;
  let estimated = null;

  /** The settings that matter: none for Gibbs sampling where both conditionals are known. */
  const ownSettings = () => {
    const isExact = ui.algorithm.value === "gibbs" && target.conditionals.every(Boolean);
    return isExact ? {} : { ...chosen[ui.algorithm.value] };
  };

  const say = (text) => {
    if (ui.words.textContent !== text) ui.words.textContent = text;
    ui.canvas.setAttribute("aria-label", `${alt} ${summary()}`.trim());
  };
  const summary = () => tellRun(chain, estimate(true), target.mean);

  /** The estimate, computed again when the chain is a twentieth longer or when it is asked for. */
  const estimate = (now = false) => {
    const isOld = !estimated || chain.length >= 1.05 * estimated.at;
    if (isOld || (now && estimated.at !== chain.length)) {
      const first = ui.from.value === "half" ? Math.floor(chain.length / 2) : 0;
      estimated = { at: chain.length, found: chain.estimate(first) };
    }
    return estimated.found;
  };

  const readOut = () => {
    const told = tellNumbers(chain, estimate(), target.mean);
    for (const [name, text] of Object.entries(told)) ui[name].textContent = text;
  };

  // A move that is shown as it happens becomes a draw on the picture when its outcome is shown.
  const settle = () => {
    if (pending) picture.add(pending.q, pending.move);
    pending = null;
  };
  const advance = () => {
    settle();
    move = chain.step();
    pending = { q: chain.state.q, move };
  };

  const placeMarker = () => {
    [ui.marker.style.left, ui.marker.style.top] = picture.place(position).map((v) => `${v}px`);
    ui.marker.setAttribute("aria-label", `Start ${point(position)}; the arrow keys move it`);
    ui.startX.value = Number(position[0].toFixed(2));
    ui.startY.value = Number(position[1].toFixed(2));
  };

  const remember = () => {
    if (!chain || chain.length < BATCH) return;
    const { draws, z, efficiency } = tellNumbers(chain, estimate(true), target.mean);
    const { label } = algorithms[chain.algorithm];
    const settings = Object.values(chain.settings).join(", ");
    const cells = [target.label, settings ? `${label} (${settings})` : label];
    const body = ui.history.querySelector("tbody");
    const row = body.insertRow(0);
    for (const text of [...cells, draws, z, efficiency]) row.insertCell().textContent = text;
    while (body.rows.length > REMEMBERED) body.deleteRow(-1);
    ui.history.hidden = false;
  };

  const restart = (told = "") => {
    pause();
    remember();
    const random = createRandom(Math.trunc(Number(ui.seed.value)) || 0);
    chain = createChain(target, ui.algorithm.value, ownSettings(), position, random);
    move = pending = estimated = null;
    picture.clear(position);
    placeMarker();
    picture.draw();
    readOut();
    say(told || `A new chain starts at ${point(position)}.`);
  };

  const chooseTarget = (at) => {
    pause();
    remember();
    chain = null;
    target = createTarget(targets[ui.target.value]);
    position = at || target.start;
    picture.show(target);
    const difference = largestDifference(target, target.checks);
    ui.certificate.textContent = tellDifference(difference, target.checks.length);
    ui.certificate.classList.toggle("is-wrong", !(difference < TOLERANCE));
  };

  const showSettings = () => {
    ui.settings.innerHTML = sliders(ownSettings(), facts.settings);
  };

  const pause = () => {
    if (!timer) return;
    cancelAnimationFrame(timer);
    timer = 0;
    ui.play.textContent = "Play";
    settle();
    picture.draw(move);
    readOut();
  };
  const finish = () => {
    pause();
    say(`${summary()} These are as many draws as the arena keeps.`);
  };

  const play = () => {
    let before = performance.now();
    let spoken = before;
    let due = 1;
    ui.play.textContent = "Pause";
    say("Playing.");
    const frame = (now) => {
      timer = requestAnimationFrame(frame);
      const speed = SPEEDS[ui.speed.value][1];
      due += (speed * Math.min(now - before, 200)) / 1000;
      before = now;
      const until = performance.now() + FRAME_BUDGET;
      for (; due >= 1 && !chain.isFull && performance.now() < until; due--) advance();
      if (speed > SLOW) due = Math.min(due, 1);
      const progress = speed > SLOW ? 1 : Math.min(1, 1.6 * due);
      if (progress >= 0.5) settle();
      picture.draw(move, progress);
      readOut();
      if (now - spoken > TELL_EVERY) {
        spoken = now;
        say(summary());
      }
      if (chain.isFull) finish();
    };
    timer = requestAnimationFrame(frame);
  };

  const run = {
    pause,
    restart,
    showSettings,

    /** Begin with the target of the menu, at a given start or at its own. */
    begin(at, told) {
      chooseTarget(at);
      showSettings();
      restart(told && `Now the target is the ${target.label}: ${target.words}.`);
    },
    tellAlgorithm: () => tellAlgorithm(ui.algorithm.value, algorithms, target),

    playOrPause() {
      if (chain.isFull) finish();
      else if (!timer) play();
      else {
        pause();
        say(summary());
      }
    },

    take(count) {
      pause();
      for (let k = 0; k < count && !chain.isFull; k++) advance();
      settle();
      picture.draw(move);
      readOut();
      if (chain.isFull) finish();
      else say(count === 1 ? tellMove(move, chain.algorithm, chain.length) : summary());
    },

    set(name, value) {
      chosen[ui.algorithm.value][name] = value;
      restart();
    },

    estimateAgain() {
      estimated = null;
      readOut();
      say(summary());
    },

    moveStart(to) {
      const { x, y } = target.window;
      position = [x, y].map(([low, high], i) => Math.min(high, Math.max(low, to[i])));
      restart();
    },
    moveStartBy: (x, y) => run.moveStart([position[0] + x, position[1] + y]),
    moveStartToPixels: (x, y) => run.moveStart(picture.fromPixels(x, y)),

    /** Draw again what there is, after a change of size or of the page's mode. */
    redraw() {
      picture.resize(Array.from({ length: chain.length }, (_, k) => chain.draw(k)));
      placeMarker();
      picture.draw(move);
    },
  };
  return run;
}
