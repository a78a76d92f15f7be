// Each entry: what is asked of the store, and what it must answer.
(() => {
  const entry = (at, value) => ({ at, value });
  const file = (cards, version = 1) => JSON.stringify({ version, areas: { cards } });
  const noFile = "This is not a file of progress.";
  let changes = 0;
  document.addEventListener("progress-changed", () => { changes += 1; });
  const told = {
    "the newer entry is kept": [
      () => {
        progress.set("cards", "a", {n: 1});
        const now = Date.now();
        const older = progress.restore(file({a: entry(now - 9e9, {n: 0}), b: entry(1, 2)}));
        while (Date.now() <= now + 1) {} // until the clock has moved
        const newer = progress.restore(file({a: entry(now + 9e9, {n: 3})}));
        const clock = progress.get("cards", "a").n;
        const others = [progress.get("cards", "b"), progress.get("cards", "c") ?? null];
        return [older, newer, clock, changes, ...others];
      },
      [1, 1, 3, 3, 2, null],
    ],
    "what is cleared is gone": [
      () => {
        progress.set("zoo", "x", true);
        progress.set("zoo", "x", undefined);
        progress.clear("cards");
        return [progress.all("zoo"), progress.all("cards")];
      },
      [{}, {}],
    ],
    "what is no file is refused": [
      () => {
        return ["[]", "nothing", file({}, 2), '{"version": 1}'].map((text) => {
          try { return progress.restore(text); } catch (error) { return error.message; }
        });
      },
      [noFile, noFile, "This file has version 2; 1 is understood here.", noFile],
    ],
    "odd entries are left out": [
      () => {
        const one = '{"at": 1, "value": {"polluted": 1}}';
        const cards = `{"__proto__": ${one}, "b": 7, "c": {"at": "1", "value": 1}}`;
        const areas = `{"__proto__": {"polluted": ${one}}, "cards": ${cards}}`;
        const odd = `{"version": 1, "areas": ${areas}}`;
        return [progress.restore(odd), {}.polluted ?? null, progress.all("cards")];
      },
      [0, null, {}],
    ],
  };
  return Object.entries(told).map(([name, [ask, expected]]) => {
    localStorage.clear();
    changes = 0;
    return [name, ask(), expected];
  });
})()
