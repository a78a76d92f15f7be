// Asked in the scope of the arena's own code.
({
  densities: ({ facts, points }) => {
    const target = createTarget(facts);
    return points.map((q) => {
      const g = [0, 0];
      return [target.evaluate(q, g), ...g];
    });
  },
  difference: (facts) => largestDifference(createTarget(facts), facts.checks),
  marginal: ({ facts, i, at }) => {
    const target = createTarget(facts);
    return at.map((x) => target.marginal(i, x));
  },
  contour: (facts) => {
    const target = createTarget(facts);
    return contour(onGrid(target.density, facts.window), facts.levels[2], facts.window);
  },
  words: () => {
    const random = createRandom(0, new Uint32Array([1, 2, 3, 4]));
    return [Array.from({ length: 8 }, random.word), [...seedState(0)]];
  },
  draws: ({ seed, kind }) => {
    const random = createRandom(seed);
    return Array.from({ length: 100000 }, random[kind]);
  },
  estimate: (x) => estimateMean(Float64Array.from(x)),
  // on recorded draws in place of the generator's: [is normal, value] one after another
  steps: ({ facts, algorithm, settings, start, tape, count }) => {
    let k = 0;
    const next = (isNormal) => {
      const [kind, value] = tape[k++];
      if (kind !== isNormal) throw new Error(`draw ${k} is of the other kind`);
      return value;
    };
    const replay = { normal: () => next(1), uniform: () => next(0) };
    const chain = createChain(createTarget(facts), algorithm, settings, start, replay);
    for (let t = 0; t < count; t++) chain.step();
    return Array.from({ length: count }, (_, t) => chain.draw(t));
  },
  gibbs: ({ facts, settings, starts, seed, count }) => {
    const target = createTarget(facts);
    const random = createRandom(seed);
    return starts.map((start) => {
      const chain = createChain(target, "gibbs", settings, start, random);
      for (let t = 0; t < count; t++) chain.step();
      return chain.state.q;
    });
  },
})
