// What a reader has done, kept in this browser: cards, exercises and specimens share one store.
// Script's interface: window.progress and the event "progress-changed" on document.
(() => {
  const KEY = "all-the-needles";
  const VERSION = 1;
  const FILE = "all-the-needles-progress.json";
  const changed = () => document.dispatchEvent(new Event("progress-changed"));
  const isRecord = (x) => x !== null && typeof x === "object" && !Array.isArray(x);
  const isEntry = (x) => isRecord(x) && Number.isFinite(x.at) && "value" in x;
  const isName = (name) => name !== "__proto__";

  // Only what has the right form is read, wherever it comes from.
  const clean = (data) => {
    const areas = {};
    for (const [area, entries] of Object.entries(isRecord(data.areas) ? data.areas : {})) {
      if (!isName(area) || !isRecord(entries)) continue;
      const kept = Object.entries(entries).filter(([id, entry]) => isName(id) && isEntry(entry));
      areas[area] = Object.fromEntries(kept);
    }
    return { version: VERSION, areas };
  };

  // Read anew each time, since another tab may have written; kept here where storage is barred.
  let memory = null;
  const read = () => {
    if (memory) return memory;
    try {
      const data = JSON.parse(localStorage.getItem(KEY));
      return clean(isRecord(data) && data.version === VERSION ? data : {});
    } catch {
      return clean({});
    }
  };
  const write = (data) => {
    try {
      localStorage.setItem(KEY, JSON.stringify(data));
      memory = null;
    } catch {
      memory = data;
    }
    changed();
  };

  const entriesOf = (data, area) => (Object.hasOwn(data.areas, area) ? data.areas[area] : {});

  window.progress = {
    // The value kept under an id, or undefined.
    get(area, id) {
      const entries = entriesOf(read(), area);
      return Object.hasOwn(entries, id) ? entries[id].value : undefined;
    },

    // Keep a value (whatever JSON can say); undefined or null takes the entry out.
    set(area, id, value) {
      const data = read();
      const entries = { ...entriesOf(data, area) };
      delete entries[id];
      if (value !== undefined && value !== null) entries[id] = { at: Date.now(), value };
      data.areas[area] = entries;
      write(data);
    },

    // Every value of an area, by id.
    all(area) {
      const entries = Object.entries(entriesOf(read(), area));
      return Object.fromEntries(entries.map(([id, entry]) => [id, entry.value]));
    },

    // Forget an area.
    clear(area) {
      const data = read();
      delete data.areas[area];
      write(data);
    },

    // Give the reader everything as one file.
    download() {
      const text = JSON.stringify(read(), null, 1);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      link.download = FILE;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    },

    // Merge the text of such a file: of two entries the newer stays. Returns how many were taken;
    // throws, with words for the reader, if the text is no such file.
    restore(text) {
      let given;
      try {
        given = JSON.parse(text);
      } catch {
        throw new Error("This is not a file of progress.");
      }
      if (!isRecord(given) || !isRecord(given.areas)) {
        throw new Error("This is not a file of progress.");
      }
      if (given.version !== VERSION) {
        throw new Error(`This file has version ${given.version}; ${VERSION} is understood here.`);
      }
      const data = read();
      let taken = 0;
      for (const [area, entries] of Object.entries(clean(given).areas)) {
        const mine = { ...entriesOf(data, area) };
        for (const [id, { at, value }] of Object.entries(entries)) {
          const time = Math.min(at, Date.now()); // a clock that was fast must not win for ever
          if (Object.hasOwn(mine, id) && mine[id].at >= time) continue;
          mine[id] = { at: time, value };
          taken += 1;
        }
        data.areas[area] = mine;
      }
      write(data);
      return taken;
    },
  };

  addEventListener("storage", (event) => {
    if (event.key === KEY || event.key === null) changed();
  });
})();
