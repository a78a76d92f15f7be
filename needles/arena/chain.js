// One chain: its draws, what they cost, and what they say about E[θ₁].

const MAX_DRAWS = 20000;
const FEW = 20; // draws of which nothing is estimated

const STEPS = {
  metropolis: metropolisStep,
  independence_metropolis: independenceStep,
  gibbs: gibbsStep,
  slice_sample: sliceStep,
  hmc: hmcStep,
  nuts: nutsStep,
};

const usesGradient = (algorithm) => algorithm === "hmc" || algorithm === "nuts";

/** A chain of `algorithm` with these settings from `start`; its first draw is the first move. */
function createChain(target, algorithm, settings, start, random) {
  target.evaluations = 0;
  const state = { q: [...start], g: usesGradient(algorithm) ? [0, 0] : null };
  state.lp = target.evaluate(state.q, state.g);
  const values = [new Float64Array(MAX_DRAWS), new Float64Array(MAX_DRAWS)];
  const chain = {
    algorithm,
    settings,
    state,
    values,
    length: 0,
    rates: 0,
    divergences: 0,

    get isFull() {
      return chain.length === MAX_DRAWS;
    },

    /** Move once, keep the state as a draw, and return what there is to see. */
    step() {
      const move = STEPS[algorithm](target, state, settings, random);
      values[0][chain.length] = state.q[0];
      values[1][chain.length] = state.q[1];
      chain.length += 1;
      // The share accepted; where a step is no single decision, the mean acceptance probability.
      chain.rates += algorithm === "nuts" ? move.rate : Number(move.accepted);
      chain.divergences += move.diverged ? 1 : 0;
      return move;
    },

    draw: (k) => [values[0][k], values[1][k]],

    /** What the draws from `first` on say about E[θ₁]; nan if they are few or never moved. */
    estimate(first) {
      if (chain.length - first < FEW) return { mean: NaN, ess: NaN, mcse: NaN };
      return estimateMean(values[0].subarray(first, chain.length));
    },

    get acceptance() {
      return chain.length && !["gibbs", "slice_sample"].includes(algorithm)
        ? chain.rates / chain.length
        : null;
    },

    get evaluations() {
      return target.evaluations;
    },
  };
  return chain;
}
