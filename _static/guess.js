// Guess the bug: the list of suspects becomes a question with radio buttons and an answer.
(() => {
  const AREA = "zoo";
  const kept = (name) => window.progress?.get(AREA, name);
  const foldAfter = (guess) => {
    let next = guess.nextElementSibling;
    while (next && !next.matches("details.specimen")) next = next.nextElementSibling;
    return next;
  };
  const make = (tag, className, ...children) => {
    const element = document.createElement(tag);
    element.className = className;
    element.append(...children);
    return element;
  };

  const ask = (guess) => {
    const name = guess.dataset.guess;
    const suspects = [...guess.querySelectorAll("li > details")];
    const legend = make("legend", "guess-question", ...guess.querySelector("p").childNodes);
    const labels = suspects.map((suspect, i) => {
      const radio = make("input", "");
      Object.assign(radio, { type: "radio", name, value: i });
      const words = make("span", "", ...suspect.querySelector("summary").childNodes);
      return make("label", "", radio, words);
    });
    const button = make("button", "guess-answer", "Answer");
    button.type = "submit";
    const status = make("div", "guess-status");
    status.setAttribute("role", "status");
    const form = make("form", "", make("fieldset", "", legend, ...labels), button, status);

    const say = (i) => {
      const reply = suspects[i].querySelector(".guess-reply").cloneNode(true);
      const isRight = "right" in suspects[i].dataset;
      reply.classList.add(isRight ? "is-right" : "is-wrong");
      if (isRight) reply.append(make("p", "guess-next", "The specimen is open below."));
      status.replaceChildren(reply);
      return isRight;
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const i = labels.findIndex((label) => label.firstChild.checked);
      if (i < 0) {
        status.replaceChildren(make("p", "", "Choose a suspect first."));
        return;
      }
      const isRight = say(i);
      const fold = foldAfter(guess);
      if (isRight && fold) fold.open = true;
      const before = kept(name);
      if (before?.right) return;
      window.progress?.set(AREA, name, { right: isRight, tries: (before?.tries ?? 0) + 1 });
    });
    form.addEventListener("change", () => status.replaceChildren());
    guess.replaceChildren(form);
  };

  const count = () => {
    const names = [...document.querySelectorAll(".guess")].map((guess) => guess.dataset.guess);
    const right = names.filter((name) => kept(name)?.right).length;
    for (const score of document.querySelectorAll(".guess-score")) {
      score.hidden = false;
      score.textContent = `You have found ${right} of ${names.length} bugs on this page.`;
    }
    for (const guess of document.querySelectorAll(".guess")) {
      guess.classList.toggle("is-found", Boolean(kept(guess.dataset.guess)?.right));
    }
  };

  const start = () => {
    if (!document.querySelector(".guess")) return;
    document.querySelectorAll(".guess").forEach(ask);
    count();
    document.addEventListener("progress-changed", count);
  };
  document.addEventListener("DOMContentLoaded", start);
})();
