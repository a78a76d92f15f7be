// The targets: log densities with gradients, as in bayeslib.posteriors, and their conditionals.
//
// A density is a function (x, y, g) that returns the log density and, where g is given, writes its
// gradient into g[0] and g[1].

const TOLERANCE = 1e-10; // of what is called the same as the library's
const LOG_2PI = Math.log(2 * Math.PI);

const normalDensity = (x, mean, sd) =>
  Math.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * Math.sqrt(2 * Math.PI));

/** The integral of f by the trapezoidal rule, for an f that vanishes at both ends. */
function integral(f, low, high, count) {
  const step = (high - low) / count;
  let total = 0;
  for (let k = 1; k < count; k++) total += f(low + k * step);
  return total * step;
}

function mixtureTarget({ weights, means, covs }) {
  const parts = weights.map((weight, k) => {
    const [[a, b], [, d]] = covs[k];
    const determinant = a * d - b * b;
    return {
      mean: means[k],
      cov: covs[k],
      precision: [d / determinant, -b / determinant, a / determinant],
      constant: Math.log(weight) - LOG_2PI - 0.5 * Math.log(determinant),
    };
  });
  const logs = new Float64Array(parts.length);

  const density = (x, y, g) => {
    let largest = -Infinity;
    parts.forEach(({ mean, precision, constant }, k) => {
      const u = x - mean[0];
      const v = y - mean[1];
      const form = precision[0] * u * u + 2 * precision[1] * u * v + precision[2] * v * v;
      logs[k] = constant - 0.5 * form;
      largest = Math.max(largest, logs[k]);
    });
    let total = 0;
    let gx = 0;
    let gy = 0;
    parts.forEach(({ mean, precision }, k) => {
      const share = Math.exp(logs[k] - largest);
      const u = x - mean[0];
      const v = y - mean[1];
      total += share;
      gx -= share * (precision[0] * u + precision[1] * v);
      gy -= share * (precision[1] * u + precision[2] * v);
    });
    if (g) {
      g[0] = gx / total;
      g[1] = gy / total;
    }
    return largest + Math.log(total);
  };

  // Given the other coordinate, a mixture again: components weighted by how well they explain it.
  const conditional = (i) => (other, random) => {
    const j = 1 - i;
    const explains = parts.map(
      ({ mean, cov }, k) => weights[k] * normalDensity(other, mean[j], Math.sqrt(cov[j][j])),
    );
    let left = random.uniform() * explains.reduce((a, b) => a + b);
    let k = 0;
    while (k < parts.length - 1 && left >= explains[k]) left -= explains[k++];
    const { mean, cov } = parts[k];
    const slope = cov[0][1] / cov[j][j];
    const sd = Math.sqrt(cov[i][i] - slope * cov[0][1]);
    return mean[i] + slope * (other - mean[j]) + sd * random.normal();
  };

  const marginal = (i, x) =>
    parts.reduce(
      (sum, { mean, cov }, k) => sum + weights[k] * normalDensity(x, mean[i], Math.sqrt(cov[i][i])),
      0,
    );
  return { density, conditionals: [conditional(0), conditional(1)], marginal };
}

function bananaTarget({ curvature, width }) {
  const constant = Math.log(2 * Math.PI * width);
  const density = (x, y, g) => {
    const z = (y - curvature * (x * x - 1)) / width;
    if (g) {
      g[0] = -x + (2 * curvature * x * z) / width;
      g[1] = -z / width;
    }
    return -0.5 * (x * x + z * z) - constant;
  };
  const second = (x, random) => curvature * (x * x - 1) + width * random.normal();
  const marginal = (i, at) =>
    i === 0 ? normalDensity(at, 0, 1) : integral((x) => Math.exp(density(x, at)), -9, 9, 1800);
  return { density, conditionals: [null, second], marginal };
}

function donutTarget({ radius, width, logEvidence }) {
  const density = (x, y, g) => {
    const distance = Math.sqrt(x * x + y * y);
    const z = (distance - radius) / width;
    if (g) {
      // The tip at the origin has no gradient; any finite one leaves a chain valid.
      const pull = distance > 0 ? -z / (width * distance) : 0;
      g[0] = pull * x;
      g[1] = pull * y;
    }
    return -0.5 * z * z;
  };
  const reach = radius + 9 * width;
  const marginal = (i, at) =>
    integral((other) => Math.exp(density(at, other) - logEvidence), -reach, reach, 1000);
  return { density, conditionals: [null, null], marginal };
}

function funnelTarget() {
  const density = (v, x, g) => {
    const shrink = Math.exp(-v);
    if (g) {
      g[0] = -v / 9 + 0.5 * (x * x * shrink - 1);
      g[1] = -x * shrink;
    }
    return (-v * v) / 18 - Math.log(3) - 0.5 * (x * x * shrink + v) - LOG_2PI;
  };
  const second = (v, random) => Math.exp(0.5 * v) * random.normal();
  const marginal = (i, at) =>
    i === 0
      ? normalDensity(at, 0, 3)
      : integral(
          (v) => normalDensity(v, 0, 3) * normalDensity(at, 0, Math.exp(0.5 * v)),
          -27,
          27,
          1000,
        );
  return { density, conditionals: [null, second], marginal };
}

const MAKERS = {
  gaussian: mixtureTarget,
  mixture: mixtureTarget,
  banana: bananaTarget,
  donut: donutTarget,
  funnel: funnelTarget,
};

/** A target that counts its evaluations, from what the library says about it. */
function createTarget(facts) {
  const { density, conditionals, marginal } = MAKERS[facts.name](facts.parameters);
  const target = { ...facts, marginal, evaluations: 0 };
  target.density = density;
  target.evaluate = (q, g) => {
    target.evaluations += 1;
    return density(q[0], q[1], g);
  };
  // An exact draw from a conditional is charged like an evaluation.
  target.conditionals = conditionals.map(
    (draw) =>
      draw &&
      ((other, random) => {
        target.evaluations += 1;
        return draw(other, random);
      }),
  );
  return target;
}

/** How far log densities and gradients are from the library's, at points that it chose. */
function largestDifference(target, points) {
  const g = [0, 0];
  const far = (a, b) => Math.abs(a - b) / Math.max(1, Math.abs(b));
  return points.reduce((worst, [x, y, lp, gx, gy]) => {
    const found = target.density(x, y, g);
    return Math.max(worst, far(found, lp), far(g[0], gx), far(g[1], gy));
  }, 0);
}
