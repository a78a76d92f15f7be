// The study box on the page of cards: one card at a time, by Leitner's boxes.
(() => {
  const AREA = "cards";
  const DAYS = [1, 2, 4, 8, 16, 32, 64]; // until a card of box 1, 2, ... is due again
  const STUDY = "study"; // what is chosen above the card, and where one is
  const LEARNT = 4; // the box from which a card counts as learnt

  // ---- the schedule; a day is text, year-month-day, in the reader's own time ----

  const two = (number) => String(number).padStart(2, "0");
  const dayIn = (days) => {
    const now = new Date();
    const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() + days);
    return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
  };
  const daysUntil = (day) => {
    const [year, month, date] = day.split("-").map(Number);
    const now = new Date();
    const midnight = Date.UTC(now.getFullYear(), now.getMonth(), now.getDate());
    return Math.round((Date.UTC(year, month - 1, date) - midnight) / 86400000);
  };
  const isState = (state) =>
    state !== null && typeof state === "object" && /^\d{4}-\d\d-\d\d$/.test(state.due) &&
    Number.isInteger(state.box) && state.box >= 0 && state.box <= DAYS.length;

  // What becomes of a card: missed, it is due again today; known when due, it moves up one box.
  // With `left` days until all is to be known, no rest takes more than a third of them.
  const after = (state, knew, left) => {
    const first = state?.first ?? dayIn(0);
    if (!knew) return { box: 0, due: dayIn(0), first, at: Date.now() };
    if (state && state.due > dayIn(0)) return state;
    const box = Math.min((state?.box ?? 0) + 1, DAYS.length);
    const rest = left > 0 ? Math.min(DAYS[box - 1], Math.ceil(left / 3)) : DAYS[box - 1];
    return { box, due: dayIn(rest), first, at: Date.now() };
  };

  // A number that stands for a text: the order of cards that are mixed.
  const mixed = (text) => {
    let hash = 2166136261;
    for (const sign of text) hash = Math.imul(hash ^ sign.codePointAt(0), 16777619);
    return (Math.imul(hash ^ (hash >>> 15), 2246822519) ^ (hash >>> 13)) >>> 0;
  };

  const inWords = (days) => (days < 1 ? "today" : days === 1 ? "tomorrow" : `in ${days} days`);

  // ---- the box ----

  const start = () => {
    const box = document.querySelector(".study");
    if (!box || !window.progress) return;
    const part = (name) => box.querySelector(`.study-${name}`);
    const [chapter, which, counts, said] = ["chapter", "which", "counts", "said"].map(part);
    const [card, place, front, back] = ["card", "place", "front", "back"].map(part);
    const [turn, again, know, undo] = ["turn", "again", "know", "undo"].map(part);
    const choices = { chapter, which };
    for (const name of ["order", "fresh", "by"]) choices[name] = part(name);
    const { order, fresh: quota, by } = choices;

    const sections = new Map(); // chapter: its part of the page
    const folds = [...document.querySelectorAll("details.card[data-chapter]")];
    const cards = folds.map((fold, order) => {
      const name = fold.dataset.chapter;
      if (!sections.has(name)) sections.set(name, fold.closest("section"));
      const id = fold.id.replace(/^card-/, "");
      return { id, chapter: name, order, mixed: mixed(id), fold };
    });
    const titles = new Map();
    for (const [name, section] of sections) {
      titles.set(name, section.querySelector("h2, h3").firstChild.textContent);
      chapter.add(new Option(titles.get(name), name));
    }

    let current = null;
    let turned = false;
    let passed = null; // the last card that was answered
    const answered = []; // what can be undone: { card, state }

    const states = () => {
      const kept = Object.entries(window.progress.all(AREA)).filter(([, state]) => isState(state));
      return new Map(kept);
    };
    const byOrder = (a, b) => (order.value ? a.mixed - b.mixed : a.order - b.order);
    const chosen = () =>
      cards.filter((one) => !chapter.value || one.chapter === chapter.value).sort(byOrder);
    const left = () => (by.value ? daysUntil(by.value) : 0);

    const remember = () => {
      const kept = Object.entries(choices).map(([name, field]) => [name, field.value]);
      window.progress.set(STUDY, "choice", { ...Object.fromEntries(kept), passed: passed?.id ?? "" });
    };
    const recall = () => {
      const kept = window.progress.get(STUDY, "choice") ?? {};
      for (const [name, field] of Object.entries(choices)) {
        const before = field.value;
        if (typeof kept[name] === "string") field.value = kept[name];
        if (field !== by && field.selectedIndex < 0) field.value = before; // no such choice any more
      }
      passed = cards.find((one) => one.id === kept.passed) ?? null;
    };

    // The cards of today: due in the order of their days, then new ones, then those missed today.
    const pile = (all) => {
      const today = dayIn(0);
      const mine = chosen();
      const of = (one) => all.get(one.id);
      const due = mine.filter((one) => of(one)?.due <= today);
      const missed = due.filter((one) => of(one).box === 0 && of(one).due === today);
      const waiting = due.filter((one) => !missed.includes(one));
      waiting.sort((a, b) => of(a).due.localeCompare(of(b).due) || byOrder(a, b));
      missed.sort((a, b) => of(a).at - of(b).at);
      const begun = [...all.values()].filter((state) => state.first === today).length;
      const unseen = mine.filter((one) => !all.has(one.id));
      const daily = quota.value === "all" ? cards.length : Number(quota.value);
      const started = left() > 0 ? mine.filter((one) => of(one)?.first === today).length : begun;
      const most = left() > 0 ? Math.ceil((unseen.length + started) / left()) : daily;
      const fresh = unseen.slice(0, Math.max(0, most - started));
      return { waiting, fresh, missed, mine };
    };

    const candidates = ({ waiting, fresh, missed, mine }) => {
      if (which.value === "all") {
        const ahead = passed ? mine.filter((one) => byOrder(one, passed) > 0) : mine;
        return [...ahead, ...mine.filter((one) => !ahead.includes(one))];
      }
      return [...waiting, ...(which.value === "today" ? fresh : []), ...missed];
    };

    const copy = (nodes, target) => {
      target.replaceChildren(...[...nodes].map((node) => node.cloneNode(true)));
      for (const node of target.querySelectorAll("[id]")) node.removeAttribute("id");
    };

    const empty = (all) => {
      const days = chosen().map((one) => all.get(one.id)).filter(Boolean).map((state) => state.due);
      const next = days.filter((day) => day > dayIn(0)).sort()[0];
      const due = next ? ` The next card is due ${inWords(daysUntil(next))}.` : "";
      const unseen = which.value === "today" && chosen().some((one) => !all.has(one.id));
      place.textContent = "";
      const none = which.value === "due" ? "Nothing is due." : "Nothing is left for today.";
      front.textContent = none + (unseen ? " The next cards come tomorrow." : due);
    };

    const show = (all) => {
      turn.hidden = !current;
      turn.firstChild.textContent = turned ? "Turn back " : "Turn over ";
      for (const button of [again, know]) button.hidden = !current || !turned;
      undo.hidden = answered.length === 0;
      quota.disabled = left() > 0;
      back.hidden = !turned;
      if (!current) return;
      const state = all.get(current.id);
      const where = state ? (state.box ? `box ${state.box}` : "missed") : "new";
      place.textContent = `${titles.get(current.chapter)}, ${where}`;
      know.querySelector(".study-when").textContent = inWords(daysUntil(after(state, true, left()).due));
    };

    const draw = (all, next) => {
      current = next ?? null;
      turned = false;
      back.replaceChildren();
      if (current) copy(current.fold.querySelector("summary > span").childNodes, front);
      else empty(all);
    };

    const refresh = () => {
      const all = states();
      const piles = pile(all);
      const next = candidates(piles);
      if (!current || !next.includes(current)) draw(all, next[0]);
      const learnt = piles.mine.filter((one) => all.get(one.id)?.box >= LEARNT).length;
      const due = piles.waiting.length + piles.missed.length;
      const { fresh, mine } = piles;
      const share = `learnt ${learnt} of ${mine.length}`;
      counts.textContent = `Due ${due} · new today ${fresh.length} · ${share}`;
      for (const [name, section] of sections) {
        section.hidden = chapter.value !== "" && chapter.value !== name;
        const entry = document.querySelector(`.bd-sidebar-secondary a[href="#${section.id}"]`);
        if (entry) entry.closest("li").hidden = section.hidden;
      }
      show(all);
      card.dispatchEvent(new Event("toggle")); // book.js lets the keyboard reach what scrolls
    };

    const flip = () => {
      turned = !turned;
      if (turned) copy(current.fold.querySelector(".card-back").childNodes, back);
      refresh();
    };

    const answer = (knew) => {
      const old = states().get(current.id);
      const state = after(old, knew, left());
      answered.push({ card: current, state: old });
      passed = current;
      current = null;
      if (state !== old) window.progress.set(AREA, passed.id, state);
      remember();
      card.focus();
    };

    const takeBack = () => {
      const { card: last, state } = answered.pop();
      passed = answered.at(-1)?.card ?? null;
      remember();
      window.progress.set(AREA, last.id, state);
      draw(states(), last);
      flip();
      card.focus();
    };

    const restart = () => {
      current = null;
      passed = null;
      remember();
    };

    // ---- hands on ----

    turn.addEventListener("click", () => {
      flip();
      card.focus();
    });
    again.addEventListener("click", () => answer(false));
    know.addEventListener("click", () => answer(true));
    undo.addEventListener("click", takeBack);
    card.addEventListener("click", ({ target }) => {
      const own = target.closest("a, summary, button");
      if (current && !own && getSelection().isCollapsed) flip();
    });
    part("desk").addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const { key, target } = event;
      if (key.toLowerCase() === "u" && answered.length) {
        event.preventDefault();
        takeBack();
        return;
      }
      if (!current) return;
      const scrolls = target.scrollWidth > target.clientWidth && target !== card;
      if (target === card && (key === " " || key === "Enter")) flip();
      else if (turned && (key === "1" || (key === "ArrowLeft" && !scrolls))) answer(false);
      else if (turned && (key === "2" || (key === "ArrowRight" && !scrolls))) answer(true);
      else return;
      event.preventDefault();
    });
    for (const field of Object.values(choices)) field.addEventListener("change", restart);
    part("export").addEventListener("click", () => window.progress.download());
    part("import").addEventListener("change", async ({ target }) => {
      try {
        const taken = window.progress.restore(await target.files[0].text());
        said.textContent = `Entries taken from the file: ${taken}.`;
      } catch (error) {
        said.textContent = error.message;
      }
      target.value = "";
    });
    part("reset").addEventListener("click", () => {
      if (!confirm("Forget what you know of the cards? Exercises and the bug zoo stay.")) return;
      answered.length = 0;
      window.progress.clear(AREA);
      said.textContent = "All cards are new again.";
    });
    document.addEventListener("progress-changed", refresh);
    document.addEventListener("visibilitychange", refresh); // a page left open over midnight

    addEventListener("hashchange", () => {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (!target?.closest("section[hidden]")) return;
      chapter.value = "";
      restart();
      target.scrollIntoView();
    });

    recall();
    const asked = new URLSearchParams(location.search).get("chapter");
    if (titles.has(asked)) chapter.value = asked;
    refresh();
    box.hidden = false;
    document.querySelector(".study-without").remove();
  };

  document.addEventListener("DOMContentLoaded", start);
})();
