// Samplers with gradients, unit mass matrix. Their state also holds g, the gradient at q.

const DIVERGENT = 1000; // an energy error that no stable trajectory makes
const MAX_DEPTH = 10;

const dot = (a, b) => a[0] * b[0] + a[1] * b[1];
const sum = (a, b) => [a[0] + b[0], a[1] + b[1]];

/** One leapfrog step from { q, p, g, lp }, backwards where the step size is negative. */
function leap(target, { q, p, g }, stepSize) {
  const half = 0.5 * stepSize;
  const middle = [p[0] + half * g[0], p[1] + half * g[1]];
  const there = [q[0] + stepSize * middle[0], q[1] + stepSize * middle[1]];
  const slope = [0, 0];
  const lp = target.evaluate(there, slope);
  return {
    q: there,
    p: [middle[0] + half * slope[0], middle[1] + half * slope[1]],
    g: slope,
    lp,
  };
}

const energyOf = ({ p, lp }) => 0.5 * dot(p, p) - lp;

function hmcStep(target, state, { step_size: stepSize, num_steps: numSteps }, random) {
  let end = { ...state, p: [random.normal(), random.normal()] };
  const before = energyOf(end);
  const points = [state.q];
  for (let k = 0; k < numSteps && Number.isFinite(end.lp); k++) {
    end = leap(target, end, stepSize);
    points.push(end.q);
  }
  let error = energyOf(end) - before;
  if (!(error < Infinity)) error = Infinity;
  const rate = Math.exp(Math.min(-error, 0));
  const accepted = random.uniform() < rate;
  if (accepted) Object.assign(state, { q: end.q, g: end.g, lp: end.lp });
  const kind = accepted ? "accepted" : "rejected";
  return {
    rate,
    accepted,
    diverged: error > DIVERGENT,
    proposal: end.q,
    lines: [{ points, kind, marked: true }],
    dots: [{ at: end.q, kind }],
  };
}

/** Whether two neighbouring stretches of a trajectory, joined, turn back (as in Stan). */
function turns(early, late) {
  const whole = sum(early.sum, late.sum);
  const withFirst = sum(early.sum, late.first);
  const withLast = sum(late.sum, early.last);
  return [
    [whole, early.first],
    [whole, late.last],
    [withFirst, early.first],
    [withFirst, late.first],
    [withLast, early.last],
    [withLast, late.last],
  ].some(([total, momentum]) => dot(total, momentum) <= 0);
}

/** Multinomial No-U-Turn sampling (Hoffman and Gelman 2014; Betancourt 2017). */
function nutsStep(target, state, { step_size: stepSize }, random) {
  const start = { ...state, p: [random.normal(), random.normal()] };
  const initial = energyOf(start);
  const ends = { backward: start, forward: start };
  const paths = { backward: [], forward: [] };
  let whole = { first: start.p, last: start.p, sum: start.p };
  let logWeight = 0;
  let acceptance = 0;
  let steps = 0;
  let depth = 0;
  let diverged = false;
  let cut = false;
  let chosen = start;

  /** Double from one end; the stretch made, or null where it turned back or diverged. */
  const grow = (way, levels, drawn) => {
    if (levels > 0) {
      const early = grow(way, levels - 1, drawn);
      const late = early && grow(way, levels - 1, drawn);
      if (!late || turns(early, late)) return null;
      return { first: early.first, last: late.last, sum: sum(early.sum, late.sum) };
    }
    const next = leap(target, ends[way], way === "forward" ? stepSize : -stepSize);
    ends[way] = next;
    paths[way].push(next.q);
    steps += 1;
    const gain = initial - energyOf(next);
    if (!(gain >= -DIVERGENT)) {
      diverged = true;
      return null;
    }
    acceptance += Math.min(1, Math.exp(gain));
    if (drawn.state === null) {
      drawn.logWeight = gain;
      drawn.state = next;
    } else {
      drawn.logWeight = logSum(drawn.logWeight, gain);
      if (Math.log(random.uniform()) + drawn.logWeight < gain) drawn.state = next;
    }
    return { first: next.p, last: next.p, sum: next.p };
  };

  while (depth < MAX_DEPTH && !cut) {
    const way = random.uniform() < 0.5 ? "forward" : "backward";
    const drawn = { state: null, logWeight: -Infinity };
    const made = grow(way, depth, drawn);
    if (!made) break;
    depth += 1;
    if (Math.log(random.uniform()) + logWeight < drawn.logWeight) chosen = drawn.state;
    logWeight = logSum(logWeight, drawn.logWeight);
    // Seen from the end that grew: the old trajectory comes first, its far end foremost.
    const old = way === whole.way ? whole : { ...whole, first: whole.last, last: whole.first };
    cut = turns(old, made);
    whole = { first: old.first, last: made.last, sum: sum(old.sum, made.sum), way };
  }
  Object.assign(state, { q: chosen.q, g: chosen.g, lp: chosen.lp });
  return {
    rate: acceptance / steps,
    accepted: chosen !== start,
    diverged,
    depth,
    proposal: chosen.q,
    lines: [
      {
        points: [...paths.backward.reverse(), start.q, ...paths.forward],
        kind: diverged ? "rejected" : "accepted",
        marked: true,
      },
    ],
    dots: [{ at: chosen.q, kind: "accepted" }],
  };
}

function logSum(a, b) {
  const largest = Math.max(a, b);
  return largest === -Infinity
    ? largest
    : largest + Math.log(Math.exp(a - largest) + Math.exp(b - largest));
}
