// The picture on its canvas: what stays (contours, exact marginals), draws so far, the last moves.

const BINS = 48;
const TAIL = 40; // points of the path, and refused proposals, that stay visible
const MARGIN = { left: 34, bottom: 34, band: 62, gap: 8 };
const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

/** Whether a colour as the browser tells it, rgb(…), is nearer to white than to black. */
const isLight = (color) =>
  color
    .match(/[\d.]+/g)
    .slice(0, 3)
    .reduce((sum, part) => sum + Number(part), 0) > 380;

/** Round numbers about `count` in number, between low and high. */
function ticks([low, high], count = 5) {
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(k * step);
  return found;
}

/** A picture on `canvas`; `colors` is a function that returns the colours of the page's mode. */
function createPicture(canvas, colors) {
  const context = canvas.getContext("2d");
  const base = document.createElement("canvas");
  const cloud = document.createElement("canvas");
  let target = null;
  let curves = [];
  let marginals = null;
  let counts = null;
  let total = 0;
  let path = [];
  let refused = [];
  let size = null;

  const geometry = () => {
    const width = canvas.clientWidth;
    const side = width - MARGIN.left - MARGIN.band - MARGIN.gap;
    const top = MARGIN.band + MARGIN.gap;
    return { width, height: top + side + MARGIN.bottom, side, left: MARGIN.left, top };
  };
  const share = (value, [low, high]) => (value - low) / (high - low);
  const toX = (x) => size.left + size.side * share(x, target.window.x);
  const toY = (y) => size.top + size.side * (1 - share(y, target.window.y));
  const fromPixels = (px, py) => {
    const { x, y } = target.window;
    return [
      x[0] + ((x[1] - x[0]) * (px - size.left)) / size.side,
      y[0] + ((y[1] - y[0]) * (size.top + size.side - py)) / size.side,
    ];
  };

  const polyline = (paint, points) => {
    paint.beginPath();
    points.forEach(([x, y], k) =>
      k ? paint.lineTo(toX(x), toY(y)) : paint.moveTo(toX(x), toY(y)),
    );
    paint.stroke();
  };
  const disc = (paint, [x, y], radius, way = "fill") => {
    paint.beginPath();
    paint.arc(toX(x), toY(y), radius, 0, 2 * Math.PI);
    paint[way]();
  };
  const clipped = (paint, draw) => {
    paint.save();
    paint.beginPath();
    paint.rect(size.left, size.top, size.side, size.side);
    paint.clip();
    draw();
    paint.restore();
  };

  const drawAxes = (paint, ink) => {
    const bottom = size.top + size.side;
    paint.strokeStyle = paint.fillStyle = ink;
    paint.lineWidth = 0.8;
    paint.font = FONT;
    paint.beginPath();
    paint.moveTo(size.left, size.top);
    paint.lineTo(size.left, bottom);
    paint.lineTo(size.left + size.side, bottom);
    const write = (value) => String(Math.round(value * 100) / 100).replace("-", "−");
    paint.textAlign = "center";
    paint.textBaseline = "top";
    for (const value of ticks(target.window.x)) {
      paint.moveTo(toX(value), bottom);
      paint.lineTo(toX(value), bottom + 4);
      paint.fillText(write(value), toX(value), bottom + 6);
    }
    paint.fillText("θ₁", size.left + size.side / 2, bottom + 19);
    paint.textAlign = "right";
    paint.textBaseline = "middle";
    for (const value of ticks(target.window.y)) {
      paint.moveTo(size.left, toY(value));
      paint.lineTo(size.left - 4, toY(value));
      paint.fillText(write(value), size.left - 6, toY(value));
    }
    paint.stroke();
    paint.textAlign = "left";
    paint.fillText("θ₂", 2, size.top - 10);
  };

  /** Where the height of a marginal density ends in its band: above the square, or right of it. */
  const bandPoint = (i, at, height) => {
    const up = 0.8 * MARGIN.band * Math.min(height / marginals[i].peak, 1.2);
    return i === 0
      ? [toX(at), size.top - MARGIN.gap - up]
      : [size.left + size.side + MARGIN.gap + up, toY(at)];
  };

  const drawBase = () => {
    const paint = base.getContext("2d");
    const { ink, truth } = colors();
    prepare(base, paint);
    drawAxes(paint, ink);
    clipped(paint, () => {
      paint.strokeStyle = ink;
      curves.forEach((segments, k) => {
        paint.globalAlpha = 0.35 + (0.5 * k) / curves.length;
        paint.lineWidth = 1.1;
        paint.beginPath();
        for (const [x1, y1, x2, y2] of segments) {
          paint.moveTo(toX(x1), toY(y1));
          paint.lineTo(toX(x2), toY(y2));
        }
        paint.stroke();
      });
    });
    paint.strokeStyle = truth;
    paint.lineWidth = 1.8;
    paint.setLineDash([5, 3.5]);
    marginals.forEach(({ values }, i) => {
      paint.beginPath();
      values.forEach(([at, height]) => paint.lineTo(...bandPoint(i, at, height)));
      paint.stroke();
    });
    paint.setLineDash([]);
  };

  const drawDot = (paint, q) => {
    paint.globalAlpha = 0.4;
    paint.fillStyle = colors().draws;
    disc(paint, q, 2);
  };
  const drawCloud = (draws) => {
    const paint = cloud.getContext("2d");
    prepare(cloud, paint);
    clipped(paint, () => draws.forEach((q) => drawDot(paint, q)));
  };

  const prepare = (surface, paint) => {
    const ratio = window.devicePixelRatio || 1;
    surface.width = Math.round(size.width * ratio);
    surface.height = Math.round(size.height * ratio);
    paint.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint.lineJoin = paint.lineCap = "round";
  };

  const drawHistograms = ({ draws }) => {
    context.strokeStyle = context.fillStyle = draws;
    context.lineWidth = 1.2;
    for (const i of [0, 1]) {
      const [low, high] = i === 0 ? target.window.x : target.window.y;
      const width = (high - low) / BINS;
      context.beginPath();
      context.moveTo(...bandPoint(i, low, 0));
      counts[i].forEach((count, k) => {
        const height = count / (total * width);
        context.lineTo(...bandPoint(i, low + k * width, height));
        context.lineTo(...bandPoint(i, low + (k + 1) * width, height));
      });
      context.lineTo(...bandPoint(i, high, 0));
      context.globalAlpha = 0.18;
      context.fill();
      context.globalAlpha = 1;
      context.stroke();
    }
  };

  /** Part of a polyline, from its beginning, by number of points. */
  const part = (points, amount) => {
    const upto = amount * (points.length - 1);
    const whole = Math.floor(upto);
    if (whole >= points.length - 1) return points;
    const [a, b] = [points[whole], points[whole + 1]];
    const rest = upto - whole;
    return [
      ...points.slice(0, whole + 1),
      [a[0] + rest * (b[0] - a[0]), a[1] + rest * (b[1] - a[1])],
    ];
  };

  const drawMove = (move, progress, palette) => {
    const deciding = progress < 0.5;
    const shownShare = Math.min(2 * progress, 1);
    for (const { points, kind, marked } of move.lines) {
      const shown = part(points, shownShare);
      const isSlice = kind === "slice";
      context.strokeStyle = context.fillStyle =
        deciding || isSlice ? palette.proposal : palette[kind];
      context.globalAlpha = isSlice ? 0.5 : 0.9;
      context.lineWidth = isSlice ? 5 : 1.8;
      polyline(context, shown);
      if (marked && points.length < 300) shown.forEach((q) => disc(context, q, 1.8));
    }
    context.globalAlpha = 1;
    if (deciding) return;
    for (const { at, kind } of move.dots) {
      context.fillStyle = palette[kind];
      disc(context, at, kind === "rejected" ? 3.5 : 4);
    }
  };

  /** Draw everything; `move` is the last iteration, shown up to `progress` (1: its outcome). */
  const draw = (move = null, progress = 1) => {
    if (!size) return;
    const palette = { ...colors() };
    palette.accepted = palette.draws;
    prepare(canvas, context);
    const copy = (layer) => context.drawImage(layer, 0, 0, size.width, size.height);
    copy(cloud);
    if (total > 0) drawHistograms(palette);
    copy(base);
    clipped(context, () => {
      context.strokeStyle = palette.draws;
      context.lineWidth = 1;
      for (let k = 1; k < path.length; k++) {
        context.globalAlpha = (0.8 * k) / path.length;
        polyline(context, [path[k - 1], path[k]]);
      }
      context.strokeStyle = palette.rejected;
      refused.forEach((at, k) => {
        context.globalAlpha = (0.6 * (k + 1)) / refused.length;
        disc(context, at, 2.2, "stroke");
      });
      context.globalAlpha = 1;
      if (move) drawMove(move, progress, palette);
    });
  };

  return {
    fromPixels,
    draw,
    place: ([x, y]) => (size ? [toX(x), toY(y)] : [0, 0]),
    /** Take another target; everything drawn so far is forgotten. */
    show(next) {
      target = next;
      const values = onGrid(target.density, target.window);
      curves = target.levels.map((level) => contour(values, level, target.window));
      marginals = [target.window.x, target.window.y].map(([low, high], i) => {
        const points = Array.from({ length: 161 }, (_, k) => {
          const at = low + ((high - low) * k) / 160;
          return [at, target.marginal(i, at)];
        });
        return { values: points, peak: Math.max(...points.map(([, height]) => height)) };
      });
    },
    /** Forget the draws; a new chain begins at `start`. */
    clear(start) {
      counts = [new Uint32Array(BINS), new Uint32Array(BINS)];
      total = 0;
      path = [start];
      refused = [];
      this.resize([]);
    },
    /** Fit the canvas to its box and draw again what was drawn, after a change of size or mode. */
    resize(draws) {
      if (!target || canvas.clientWidth === 0) return;
      size = geometry();
      canvas.style.height = `${size.height}px`;
      drawBase();
      drawCloud(draws);
    },
    /** One more draw, and the move that led to it. */
    add(q, move) {
      if (size) {
        const paint = cloud.getContext("2d");
        clipped(paint, () => drawDot(paint, q));
      }
      total += 1;
      [target.window.x, target.window.y].forEach(([low, high], i) => {
        const bin = Math.floor(((q[i] - low) / (high - low)) * BINS);
        if (bin >= 0 && bin < BINS) counts[i][bin] += 1;
      });
      // A move along the axes, one after the other, leaves its corners in the path.
      const legs = move.lines.filter(({ kind, marked }) => kind === "accepted" && !marked);
      path.push(...legs.slice(0, -1).map(({ points }) => points.at(-1)), q);
      path = path.slice(-TAIL);
      refused.push(...move.dots.filter(({ kind }) => kind === "rejected").map(({ at }) => at));
      refused = refused.slice(-TAIL);
    },
  };
}
