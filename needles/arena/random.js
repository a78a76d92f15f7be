// Random numbers: xoshiro128** of Blackman and Vigna (2021), seeded by splitmix32.

/** Four words of state from an integer seed, none of them reached by a neighbouring seed. */
function seedState(seed) {
  const state = new Uint32Array(4);
  for (let k = 0; k < 4; k++) {
    seed = (seed + 0x9e3779b9) >>> 0;
    let z = seed;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    state[k] = z ^ (z >>> 15);
  }
  return state;
}

/** A generator: `uniform()` in [0, 1) with 53 bits, `normal()` by Marsaglia's polar method. */
function createRandom(seed, s = seedState(seed)) {
  let spare = null;

  const word = () => {
    const five = Math.imul(s[1], 5);
    const result = Math.imul((five << 7) | (five >>> 25), 9) >>> 0;
    const shifted = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = (s[3] << 11) | (s[3] >>> 21);
    return result;
  };

  const uniform = () => ((word() >>> 5) * 2 ** 26 + (word() >>> 6)) / 2 ** 53;

  const normal = () => {
    if (spare !== null) {
      const kept = spare;
      spare = null;
      return kept;
    }
    for (;;) {
      const x = 2 * uniform() - 1;
      const y = 2 * uniform() - 1;
      const r = x * x + y * y;
      if (r > 0 && r < 1) {
        const factor = Math.sqrt((-2 * Math.log(r)) / r);
        spare = y * factor;
        return x * factor;
      }
    }
  };

  return { word, uniform, normal };
}
