// Contours by marching squares, as pairs of end points in the target's coordinates.

const GRID = 160;

/** Log densities on (GRID + 1)² points of a window { x: [low, high], y: [low, high] }. */
function onGrid(density, { x, y }) {
  const values = new Float64Array((GRID + 1) ** 2);
  for (let j = 0; j <= GRID; j++) {
    for (let i = 0; i <= GRID; i++) {
      values[j * (GRID + 1) + i] = density(
        x[0] + ((x[1] - x[0]) * i) / GRID,
        y[0] + ((y[1] - y[0]) * j) / GRID,
      );
    }
  }
  return values;
}

/** Segments [x1, y1, x2, y2] of the curve on which `values` are `level`. */
function contour(values, level, { x, y }) {
  const segments = [];
  const at = (i, j) => values[j * (GRID + 1) + i] - level;
  const toX = (i) => x[0] + ((x[1] - x[0]) * i) / GRID;
  const toY = (j) => y[0] + ((y[1] - y[0]) * j) / GRID;
  for (let j = 0; j < GRID; j++) {
    for (let i = 0; i < GRID; i++) {
      const corners = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
      const places = [
        [i, j],
        [i + 1, j],
        [i + 1, j + 1],
        [i, j + 1],
      ];
      const crossings = [];
      for (let k = 0; k < 4; k++) {
        const a = corners[k];
        const b = corners[(k + 1) % 4];
        if (a > 0 === b > 0) continue;
        const share = a / (a - b);
        const from = places[k];
        const to = places[(k + 1) % 4];
        crossings.push(
          toX(from[0] + share * (to[0] - from[0])),
          toY(from[1] + share * (to[1] - from[1])),
        );
      }
      // Where four edges are crossed, which pairs belong together cannot be seen at this width.
      for (let k = 0; k < crossings.length; k += 4) segments.push(crossings.slice(k, k + 4));
    }
  }
  return segments;
}
