// The study box on the page of cards: one card at a time, by Leitner's boxes.
(() => {
  const AREA = "cards";
  const DAYS = [1, 2, 4, 8, 16, 32, 64]; // until a card of box 1, 2, ... is due again
  const NEW_A_DAY = 20;
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
  const after = (state, knew) => {
    const first = state?.first ?? dayIn(0);
    if (!knew) return { box: 0, due: dayIn(0), first, at: Date.now() };
    if (state && state.due > dayIn(0)) return state;
    const box = Math.min((state?.box ?? 0) + 1, DAYS.length);
    return { box, due: dayIn(DAYS[box - 1]), first, at: Date.now() };
  };

  const inWords = (days) => (days < 1 ? "today" : days === 1 ? "tomorrow" : `in ${days} days`);

  // ---- the box ----

  const start = () => {
    const box = document.querySelector(".study");
    if (!box || !window.progress) return;
    const part = (name) => box.querySelector(`.study-${name}`);
    const [chapter, which, counts, said] = ["chapter", "which", "counts", "said"].map(part);
    const [card, place, front, back] = ["card", "place", "front", "back"].map(part);
    const [turn, again, know] = ["turn", "again", "know"].map(part);

    const sections = new Map(); // chapter: its part of the page
    const folds = [...document.querySelectorAll("details.card[data-chapter]")];
    const cards = folds.map((fold, order) => {
      const name = fold.dataset.chapter;
      if (!sections.has(name)) sections.set(name, fold.closest("section"));
      return { id: fold.id.replace(/^card-/, ""), chapter: name, order, fold };
    });
    const titles = new Map();
    for (const [name, section] of sections) {
      titles.set(name, section.querySelector("h2, h3").firstChild.textContent);
      chapter.add(new Option(titles.get(name), name));
    }

    let current = null;
    let turned = false;
    let passed = -1; // in the whole deck, the last card that was answered

    const states = () => {
      const kept = Object.entries(window.progress.all(AREA)).filter(([, state]) => isState(state));
      return new Map(kept);
    };
    const chosen = () => cards.filter((one) => !chapter.value || one.chapter === chapter.value);

    // The cards of today: due in the order of their days, then new ones, then those missed today.
    const pile = (all) => {
      const today = dayIn(0);
      const mine = chosen();
      const of = (one) => all.get(one.id);
      const due = mine.filter((one) => of(one)?.due <= today);
      const missed = due.filter((one) => of(one).box === 0 && of(one).due === today);
      const waiting = due.filter((one) => !missed.includes(one));
      waiting.sort((a, b) => of(a).due.localeCompare(of(b).due) || a.order - b.order);
      missed.sort((a, b) => of(a).at - of(b).at);
      const begun = [...all.values()].filter((state) => state.first === today).length;
      const fresh = mine.filter((one) => !all.has(one.id)).slice(0, Math.max(0, NEW_A_DAY - begun));
      return { waiting, fresh, missed, mine };
    };

    const candidates = ({ waiting, fresh, missed, mine }) => {
      if (which.value === "all") {
        const ahead = mine.filter((one) => one.order > passed);
        return [...ahead, ...mine.filter((one) => one.order <= passed)];
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
      back.hidden = !turned;
      if (!current) return;
      const state = all.get(current.id);
      const where = state ? (state.box ? `box ${state.box}` : "missed") : "new";
      place.textContent = `${titles.get(current.chapter)}, ${where}`;
      know.querySelector(".study-when").textContent = inWords(daysUntil(after(state, true).due));
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
      const { id, order } = current;
      const old = states().get(id);
      const state = after(old, knew);
      passed = order;
      current = null;
      if (state === old) refresh();
      else window.progress.set(AREA, id, state);
      card.focus();
    };

    const restart = () => {
      current = null;
      passed = -1;
      refresh();
    };

    // ---- hands on ----

    turn.addEventListener("click", () => {
      flip();
      card.focus();
    });
    again.addEventListener("click", () => answer(false));
    know.addEventListener("click", () => answer(true));
    part("desk").addEventListener("keydown", (event) => {
      if (!current || event.ctrlKey || event.altKey || event.metaKey) return;
      const { key, target } = event;
      const scrolls = target.scrollWidth > target.clientWidth && target !== card;
      if (target === card && (key === " " || key === "Enter")) flip();
      else if (turned && (key === "1" || (key === "ArrowLeft" && !scrolls))) answer(false);
      else if (turned && (key === "2" || (key === "ArrowRight" && !scrolls))) answer(true);
      else return;
      event.preventDefault();
    });
    chapter.addEventListener("change", restart);
    which.addEventListener("change", restart);
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

    const asked = new URLSearchParams(location.search).get("chapter");
    if (titles.has(asked)) chapter.value = asked;
    refresh();
    box.hidden = false;
    document.querySelector(".study-without").remove();
  };

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
