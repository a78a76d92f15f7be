// Numbers and moves in words.

const LIE = 4; // standard errors from the truth, at which an error is called wrong itself

const minus = (text) => text.replace("-", "−");
const fixed = (value, digits = 2) => minus(value.toFixed(digits).replace(/^-(0\.?0*)$/, "$1"));
const point = ([x, y]) => `(${fixed(x)}, ${fixed(y)})`;
const whole = (value) => Math.round(value).toLocaleString("en-GB");
const several = (count, noun, nouns = `${noun}s`) =>
  `${whole(count)} ${count === 1 ? noun : nouns}`;

/** As many digits as the error warrants: two of its own. */
function estimateText(mean, error) {
  if (!Number.isFinite(error) || error === 0) return fixed(mean);
  const digits = Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(error))));
  return `${fixed(mean, digits)} ± ${fixed(error, digits)}`;
}

const scientific = (value) => (value === 0 ? "0" : minus(value.toExponential(0)));

/** What begins when an algorithm is chosen; of Gibbs sampling, how it draws here. */
function tellAlgorithm(name, algorithms, target) {
  const head = `Now the algorithm is ${algorithms[name].label}.`;
  if (name !== "gibbs") return head;
  const ways = target.conditionals.map(
    (draw, i) =>
      `${["θ₁", "θ₂"][i]} given the other is ${draw ? "drawn exactly" : "updated on a slice"}`,
  );
  return `${head} ${ways.join("; ")}.`;
}

/** What one iteration did. */
function tellMove(move, algorithm, count) {
  const draw = `Draw ${whole(count)}: `;
  const where = point(move.proposal);
  if (usesGradient(algorithm)) {
    const steps = move.lines[0].points.length - 1;
    const trajectory = `a trajectory of ${several(steps, "leapfrog step")}`;
    const trouble = move.diverged ? " It diverged: the step size is too large there." : "";
    if (algorithm === "nuts")
      return `${draw}${trajectory}, from which ${where} was drawn.${trouble}`;
    return `${draw}${trajectory} to ${where}, ${verdict(move)}${trouble}`;
  }
  if (move.rate !== null) return `${draw}proposed ${where}, ${verdict(move)}`;
  const refused = move.dots.filter(({ kind }) => kind === "rejected").length;
  const slices = move.lines.filter(({ kind }) => kind === "slice").length;
  if (!slices) return `${draw}each coordinate from its conditional, to ${where}.`;
  return `${draw}moved to ${where}; ${several(refused, "point")} fell outside the slices.`;
}

function verdict({ accepted, rate }) {
  const chance = `acceptance probability ${fixed(rate)}`;
  return accepted
    ? `accepted (${chance}).`
    : `rejected (${chance}): the chain stays and its state counts once more.`;
}

/** What the run has found so far, and whether its own standard error may be believed. */
function tellRun(chain, found, exact) {
  if (chain.length === 0) return "";
  const diverged = chain.divergences
    ? ` ${several(chain.divergences, "trajectory", "trajectories")} diverged.`
    : "";
  const draws = several(chain.length, "draw");
  const what = usesGradient(chain.algorithm) ? "gradient evaluation" : "density evaluation";
  const head = `${draws} for ${several(chain.evaluations, what)}.${diverged}`;
  if (!Number.isFinite(found.mcse)) return `${head} These are too few to estimate anything.`;
  const z = (found.mean - exact) / found.mcse;
  const estimate = `E[θ₁] ≈ ${estimateText(found.mean, found.mcse)}; exactly ${fixed(exact)}.`;
  if (Math.abs(z) <= LIE) return `${head} ${estimate}`;
  return (
    `${head} ${estimate} That is ${fixed(Math.abs(z), 0)} standard errors off: the chain has not ` +
    "seen enough to know its own error."
  );
}

/** The read-outs, by the names of their elements; a dash for what is not known. */
function tellNumbers(chain, { mean, ess, mcse }, exact) {
  const isKnown = Number.isFinite(mcse);
  const known = (text) => (isKnown ? text() : "–");
  return {
    draws: whole(chain.length),
    evaluations: whole(chain.evaluations),
    acceptance: chain.acceptance === null ? "–" : fixed(chain.acceptance),
    mean: known(() => estimateText(mean, mcse)),
    exact: fixed(exact, 3),
    z: known(() => fixed((mean - exact) / mcse, 1)),
    ess: known(() => whole(ess)),
    efficiency: known(() => fixed((1000 * ess) / chain.evaluations, 1)),
  };
}

/** How far this script's densities are from the library's. */
function tellDifference(difference, count) {
  const mark = difference < TOLERANCE ? "✓" : "✗";
  return (
    `${mark} Log density and gradient as computed here, against the library's at ${count} ` +
    `points: largest difference ${scientific(difference)}.`
  );
}
