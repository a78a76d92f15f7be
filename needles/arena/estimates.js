// How much the draws tell: the estimators of bayeslib.diagnostics, for one chain.

/** Effective sample size for the mean: Geyer's monotone sequence on the two halves of the chain. */
function essOfMean(x) {
  const n = Math.floor(x.length / 2);
  if (x.length < 4) return NaN;
  const halves = [x.subarray(0, n), x.subarray(x.length - n)].map((half) => {
    const mean = half.reduce((a, b) => a + b, 0) / n;
    return { mean, deviations: half.map((value) => value - mean) };
  });
  const covariance = (lag) => {
    let total = 0;
    for (const { deviations } of halves) {
      for (let k = lag; k < n; k++) total += deviations[k] * deviations[k - lag];
    }
    return total / (2 * n);
  };
  const variance = covariance(0);
  if (!(variance > 0)) return NaN;
  const within = (variance * n) / (n - 1);
  const total = variance + (halves[0].mean - halves[1].mean) ** 2 / 2;
  const time = integratedTime((lag) => 1 - (within - covariance(lag)) / total, n);
  return (2 * n) / Math.max(time, 1 / Math.log10(2 * n));
}

/** 1 + 2 Σ rho, cut where the sum of a pair of neighbouring lags turns negative. */
function integratedTime(rho, n) {
  let even = 1;
  let odd = rho(1);
  const kept = [even, odd];
  let t = 1;
  while (t < n - 3 && even + odd > 0) {
    even = rho(t + 1);
    odd = rho(t + 2);
    kept[t + 1] = kept[t + 2] = 0;
    if (even + odd >= 0) {
      kept[t + 1] = even;
      kept[t + 2] = odd;
    }
    t += 2;
  }
  const last = t - 2;
  if (even > 0) kept[last + 1] = even;
  for (let k = 1; k < last - 1; k += 2) {
    // Pair sums of a reversible chain decrease: what rises is noise.
    if (kept[k + 1] + kept[k + 2] > kept[k - 1] + kept[k]) {
      kept[k + 1] = kept[k + 2] = 0.5 * (kept[k - 1] + kept[k]);
    }
  }
  const head = kept.slice(0, last + 1).reduce((a, b) => a + b, 0);
  return -1 + 2 * head + (last + 1 < kept.length ? kept[last + 1] : 0);
}

/** Mean, its standard error and the effective sample size of the draws x, a Float64Array. */
function estimateMean(x) {
  const n = x.length;
  const mean = x.reduce((a, b) => a + b, 0) / n;
  const variance = x.reduce((a, b) => a + (b - mean) ** 2, 0) / (n - 1);
  const ess = essOfMean(x);
  return { mean, ess, mcse: Math.sqrt(variance / ess) };
}
