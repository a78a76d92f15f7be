// Exercises: answered in a field, ticked as done, and listed on a page of their own.
(() => {
  const AREA = "exercises";
  const ANSWERS = "answers";
  const PREFIX = "ex-";
  const nameOf = (anchor) => anchor.slice(anchor.indexOf("#") + 1).replace(PREFIX, "");
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const hidden = (text) => make("span", { class: "visually-hidden" }, text);

  // ---- beside an exercise ----

  const addButton = (box) => {
    const title = box.querySelector(".admonition-title");
    const words = title.cloneNode(true);
    words.querySelectorAll(".headerlink").forEach((link) => link.remove());
    const button = make("button", { type: "button", class: "exercise-done" }, "Done");
    button.append(hidden(`: ${words.textContent.trim()}`));
    const name = nameOf(box.id);
    const show = () => button.setAttribute("aria-pressed", progress.get(AREA, name) === true);
    button.addEventListener("click", () => {
      progress.set(AREA, name, progress.get(AREA, name) !== true);
    });
    document.addEventListener("progress-changed", show);
    show();
    box.classList.add("has-done");
    title.after(button);
  };

  // ---- the field below it ----

  const addField = (form) => {
    const { name } = form.dataset;
    const asked = judge.unscramble(form.dataset.asked);
    const box = document.getElementById(PREFIX + name);
    const place = form.querySelector(".answer-said");
    const fields = [...form.querySelectorAll("input")];
    const tried = new Set();
    const way = make("button", { type: "button", hidden: "" }, "Show the way");
    form.querySelector("button").after(way);
    const text = () => {
      if (!asked.options) return fields[0].value;
      return (fields.find((field) => field.checked) || { value: "" }).value;
    };
    const say = ({ outcome, heading, message }) => {
      const state = outcome === "right" ? " right" : outcome === "blank" || outcome === "recipe" ? "" : " wrong";
      place.replaceChildren(
        make("div", { class: `verdict${state}` }, make("strong", {}, heading), ` ${message}`),
      );
      if (outcome === "right") way.hidden = true;
      else if (state) way.hidden = asked.recipe === "";
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const verdict = judge(asked, text(), tried);
      say(verdict);
      if (verdict.outcome === "blank" || verdict.outcome === "recipe") return;
      progress.set(ANSWERS, name, text());
      if (verdict.outcome === "right") progress.set(AREA, name, true);
      const hint = box && box.querySelector("details.tip");
      const before = form.getBoundingClientRect().top;
      if (hint && verdict.outcome === "wrong") hint.open = true;
      // The hint opens above the field, which stays under the finger, and what is said in sight.
      scrollBy({ top: form.getBoundingClientRect().top - before, behavior: "instant" });
      place.scrollIntoView({ block: "nearest", behavior: "instant" });
    });
    way.addEventListener("click", () => say(judge(asked, "?", tried)));
    const before = progress.get(ANSWERS, name);
    if (typeof before === "string") {
      if (asked.options) for (const field of fields) field.checked = field.value === before;
      else fields[0].value = before;
      const verdict = judge(asked, before, new Set());
      if (verdict.outcome === "right") say(verdict);
    }
    form.hidden = false;
  };

  // ---- the page that lists them all ----

  const select = (label, options) => {
    const box = make("select");
    for (const [value, text] of options) box.append(make("option", { value }, text));
    return [make("label", {}, `${label} `, box), box];
  };

  const buildIndex = (tools) => {
    const items = [...document.querySelectorAll(".exercise-list > li")].map((item) => {
      const link = item.querySelector("a");
      const tick = make("input", { type: "checkbox", "aria-label": `Done: ${link.textContent}` });
      const name = nameOf(link.getAttribute("href"));
      tick.addEventListener("change", () => progress.set(AREA, name, tick.checked));
      item.prepend(tick);
      const level = item.querySelector(".exercise-level");
      const state = make("span", { class: "exercise-level" });
      level.before(state);
      return { item, tick, name, level: level.textContent, state };
    });
    const chapters = [...document.querySelectorAll(".exercise-list")].map((list) => {
      const count = make("p", { class: "exercise-count" });
      list.before(count);
      const section = list.closest("section");
      const entry = document.querySelector(`.bd-sidebar-secondary a[href="#${section.id}"]`);
      const own = items.filter(({ item }) => list.contains(item));
      return { section, entry: entry && entry.closest("li"), count, own };
    });

    const [levelLabel, level] = select("Level", [
      ["", "all"], ["warm-up", "warm-up"], ["core", "core"], ["stretch", "stretch"],
    ]);
    const [stateLabel, state] = select("Show", [
      ["", "all"], ["open", "still to do"], ["done", "done"],
    ]);
    const save = make("button", { type: "button" }, "Save progress to a file");
    const file = make("input", { type: "file", accept: ".json,application/json" });
    const restore = make("label", {}, "Restore from a file ", file);
    const forget = make("button", { type: "button" }, "Forget my answers");
    const meter = make("progress", { max: items.length, "aria-label": "Exercises done" });
    const total = make("p", { class: "exercise-total", role: "status" });
    const message = make("p", { class: "exercise-message", role: "status" });

    const show = () => {
      const [done, answers] = [progress.all(AREA), progress.all(ANSWERS)];
      for (const { tick, state, name } of items) {
        tick.checked = done[name] === true;
        state.textContent = name in answers && !tick.checked ? "tried" : "";
      }
      for (const { count, own } of chapters) {
        const ready = own.filter(({ tick }) => tick.checked).length;
        count.textContent = `${ready} of ${own.length} done`;
      }
      const ready = items.filter(({ tick }) => tick.checked).length;
      meter.value = ready;
      total.textContent = `${ready} of ${items.length} done`;
    };
    // Not at each tick: what has just been ticked stays under the finger.
    const filter = () => {
      for (const { item, tick, level: own } of items) {
        const fits = state.value === "" || tick.checked === (state.value === "done");
        item.hidden = !fits || (level.value !== "" && own !== level.value);
      }
      for (const { section, entry, own } of chapters) {
        section.hidden = own.every(({ item }) => item.hidden);
        if (entry) entry.hidden = section.hidden;
      }
      const left = items.filter(({ item }) => !item.hidden).length;
      message.textContent = left === items.length ? "" : `${left} of ${items.length} shown.`;
    };

    level.addEventListener("change", filter);
    state.addEventListener("change", filter);
    save.addEventListener("click", () => progress.download());
    forget.addEventListener("click", () => {
      if (!confirm("Forget which exercises are done, and the answers? Cards and the bug zoo stay.")) return;
      progress.clear(AREA);
      progress.clear(ANSWERS);
      filter();
      message.textContent = "All exercises are still to do.";
    });
    file.addEventListener("change", async () => {
      const [chosen] = file.files;
      if (!chosen) return;
      try {
        const taken = progress.restore(await chosen.text());
        filter();
        message.textContent = `Entries taken from the file: ${taken}.`;
      } catch (error) {
        message.textContent = error.message;
      }
      file.value = "";
    });
    document.addEventListener("progress-changed", show);
    tools.append(
      make("div", { class: "exercise-meter" }, meter, total),
      make("div", { class: "exercise-filters" }, levelLabel, stateLabel),
      make("div", { class: "exercise-files" }, save, forget, restore),
      message,
    );
    show();
    filter();
  };

  const start = () => {
    if (!window.progress) return;
    document.querySelectorAll(`div.exercise[id^="${PREFIX}"]`).forEach(addButton);
    document.querySelectorAll("form.answer").forEach(addField);
    document.querySelectorAll(".exercise-tools").forEach(buildIndex);
  };
  document.addEventListener("DOMContentLoaded", start);
})();
