// Samplers without gradients. Each step moves `state` ({ q, lp }) and returns what there is to see:
// rate: acceptance probability, null where there is none; accepted; lines: [{ points, kind }];
// dots: [{ at, kind }]. A kind is "proposal", "accepted", "rejected" or "slice".

const MAX_STEPS_OUT = 50;

function decide(state, q, lp, logRatio, random) {
  const rate = Math.exp(Math.min(logRatio, 0));
  const accepted = random.uniform() < rate;
  const from = state.q;
  if (accepted) {
    state.q = q;
    state.lp = lp;
  }
  return {
    rate,
    accepted,
    proposal: q,
    lines: [{ points: [from, q], kind: accepted ? "accepted" : "rejected" }],
    dots: [{ at: q, kind: accepted ? "accepted" : "rejected" }],
  };
}

function metropolisStep(target, state, { scale }, random) {
  const q = [state.q[0] + scale * random.normal(), state.q[1] + scale * random.normal()];
  const lp = target.evaluate(q);
  return decide(state, q, lp, lp - state.lp, random);
}

function independenceStep(target, state, { scale }, random) {
  const q = [scale * random.normal(), scale * random.normal()];
  const logProposal = ([x, y]) => (-0.5 * (x * x + y * y)) / (scale * scale);
  const lp = target.evaluate(q);
  const logRatio = lp - logProposal(q) - (state.lp - logProposal(state.q));
  return decide(state, q, lp, logRatio, random);
}

/** Update coordinate i from its slice: stepping out and shrinkage (Neal 2003, figures 3 and 5). */
function updateSlice(target, state, i, width, random, seen) {
  const from = state.q;
  const at = (x) => (i === 0 ? [x, from[1]] : [from[0], x]);
  const value = (x) => target.evaluate(at(x));
  const level = state.lp + Math.log(1 - random.uniform());
  let left = from[i] - width * random.uniform();
  let right = left + width;
  let stepsLeft = Math.floor(random.uniform() * (MAX_STEPS_OUT + 1));
  let stepsRight = MAX_STEPS_OUT - stepsLeft;
  while (value(left) >= level && stepsLeft-- > 0) left -= width;
  while (value(right) >= level && stepsRight-- > 0) right += width;
  seen.lines.push({ points: [at(left), at(right)], kind: "slice" });
  for (;;) {
    const x = left + random.uniform() * (right - left);
    const lp = value(x);
    if (lp >= level) {
      state.q = at(x);
      state.lp = lp;
      seen.lines.push({ points: [from, state.q], kind: "accepted" });
      seen.dots.push({ at: state.q, kind: "accepted" });
      return;
    }
    seen.dots.push({ at: at(x), kind: "rejected" });
    if (x < from[i]) left = x;
    else right = x;
  }
}

function sliceStep(target, state, { width }, random) {
  const seen = { rate: null, accepted: true, lines: [], dots: [] };
  for (const i of [0, 1]) updateSlice(target, state, i, width, random, seen);
  return { ...seen, proposal: state.q };
}

/** Each coordinate from its conditional, or by a slice update where that is no known one. */
function gibbsStep(target, state, { width }, random) {
  const seen = { rate: null, accepted: true, lines: [], dots: [] };
  for (const i of [0, 1]) {
    const draw = target.conditionals[i];
    if (!draw) {
      // After an exact draw the density here is not known yet.
      if (state.lp === null) state.lp = target.evaluate(state.q);
      updateSlice(target, state, i, width, random, seen);
      continue;
    }
    const from = state.q;
    const x = draw(from[1 - i], random);
    state.q = i === 0 ? [x, from[1]] : [from[0], x];
    state.lp = null;
    seen.lines.push({ points: [from, state.q], kind: "accepted" });
    seen.dots.push({ at: state.q, kind: "accepted" });
  }
  return { ...seen, proposal: state.q };
}
