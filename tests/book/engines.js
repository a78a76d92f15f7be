({
  // fonts that failed
  fonts: async () => {
    await document.fonts.ready;
    return [...document.fonts].filter((font) => font.status === "error").map((font) => font.family);
  },
  // pieces of formulas that stick out of their box at the right, by how many pixels
  out: () => [...document.querySelectorAll(".katex-html .base")].map((base) => {
    const range = document.createRange();
    range.selectNodeContents(base);
    return range.getBoundingClientRect().right - base.getBoundingClientRect().right;
  }).filter((wide) => wide > 3),
  hung: () => {
    const [base] = document.querySelectorAll(".katex-html .base");
    const piece = document.createElement("span");
    piece.style = "position: relative; left: 6px; display: inline-block";
    piece.textContent = ")";
    base.append(piece);
    return true;
  },
  // formulas for screen readers, of which a sign lacks a part
  torn: () => {
    const parts = { msub: 2, msup: 2, msubsup: 3, munder: 2, mover: 2, munderover: 3, mfrac: 2 };
    return Object.entries(parts).flatMap(([sign, count]) => [...document.querySelectorAll(sign)]
      .filter((one) => one.childElementCount !== count).map((one) => one.outerHTML));
  },
  tear: () => document.querySelector("msub").lastElementChild.remove() ?? true,
  // sliders that move nothing
  moved: async () => {
    const still = [];
    for (const slider of document.querySelectorAll(".explorer input[type=range]")) {
      if (!slider.checkVisibility() || slider.disabled) continue;
      const box = slider.closest(".explorer");
      const before = box.innerHTML;
      slider.value = Number(slider.value) === Number(slider.max) ? slider.min : slider.max;
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      slider.dispatchEvent(new Event("change", { bubbles: true }));
      for (let tries = 0; tries < 100 && box.innerHTML === before; tries += 1) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      if (box.innerHTML === before) still.push(slider.getAttribute("aria-label") ?? slider.id);
    }
    return still;
  },
  answered: () => {
    const form = document.querySelector("form.answer[data-name=mcmc-repeat]");
    form.querySelector("input").value = "25/4";
    form.requestSubmit();
    return form.querySelector(".answer-said").textContent;
  },
  turned: () => {
    document.querySelector(".study-card").click();
    return document.querySelector(".study-back").checkVisibility();
  },
})
