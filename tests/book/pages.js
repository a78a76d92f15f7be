(() => {
const ground = (place) => {
  const colour = getComputedStyle(place).backgroundColor;
  return colour !== "rgba(0, 0, 0, 0)" || !place.parentElement ? colour : ground(place.parentElement);
};
return {
  // whether an element has stood still, near the top of the window, for forty frames
  stays: (id) => {
    const { top } = document.getElementById(id).getBoundingClientRect();
    window.still = top === window.before && -20 <= top && top <= 200 ? window.still + 1 : 0;
    window.before = top;
    return window.still >= 40;
  },
  // long formulas whose last mark is on the next line, alone
  astray: () => [...document.querySelectorAll(".unbroken.long")].filter((tied) => {
    const mark = tied.lastChild, place = document.createRange();
    if (mark.nodeType !== Node.TEXT_NODE) return false;
    place.selectNode(mark);
    const last = [...tied.querySelectorAll(".base")].pop().getBoundingClientRect();
    return last.height && place.getBoundingClientRect().top > last.bottom;
  }).map((tied) => tied.lastChild.data + " after " + tied.querySelector("annotation").textContent),
  // what a page prints of what only presses a button, or opens to nothing
  idle: () => [...document.querySelectorAll("details.solution, .card > summary")].filter((fold) =>
    fold.matches(".solution") ? fold.checkVisibility()
      : getComputedStyle(fold, "::after").content !== "none").length,
  brightness: () => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d");
    canvas.fillStyle = getComputedStyle(document.body).backgroundColor;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
    return (red + green + blue) / 3;
  },
  // labels of figures that stick out of them or lie on another; if `spoilt`, one of each figure is
  // moved first; a line box is taller than its letters, so boxes may share a little
  layOut: (spoilt) => {
    const place = document.createElement("div");
    place.style.cssText = "position: absolute; left: 0; top: 0; width: 640px";
    document.body.append(place);
    const found = [];
    const look = (name, k, svg) => {
      if (!svg) return; // a table
      // with the style that keeps labels apart, where there is one (needles/figures/apart.py)
      place.replaceChildren((svg.closest("div[style*='--d']") ?? svg).cloneNode(true));
      const frame = place.querySelector("svg").getBoundingClientRect();
      const texts = [...place.querySelectorAll("text")].filter((text) => text.textContent.trim());
      if (spoilt && texts.length > 1) texts[0].replaceWith(texts[1].cloneNode(true));
      const boxes = [...place.querySelectorAll("text")]
        .map((text) => [text.textContent.trim(), text.getBoundingClientRect()])
        .filter(([words]) => words);
      boxes.forEach(([words, p], i) => {
        if (p.left < frame.left - 2 || p.right > frame.right + 2 ||
            p.top < frame.top - 4 || p.bottom > frame.bottom + 4)
          found.push(`${name}, frame ${k}: "${words}" sticks out`);
        for (const [others, q] of boxes.slice(0, i)) {
          const width = Math.min(p.right, q.right) - Math.max(p.left, q.left);
          const height = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
          if (width > 1.5 && height > 0.4 * Math.min(p.height, q.height))
            found.push(`${name}, frame ${k}: "${words}" lies on "${others}"`);
        }
      });
    };
    for (const figure of document.querySelectorAll(".explorer, .picture")) {
      const name = figure.closest("[id^=fig-]")?.id ?? "a figure without a name";
      const frames = [...figure.querySelectorAll("template")].map((frame) => frame.content);
      [figure, ...frames].forEach((frame, k) => look(name, k, frame.querySelector("svg")));
    }
    place.remove();
    return found;
  },
  // tokens of code whose contrast with their ground is below 4.5, one of each colour and ground, which
  // axe cannot judge in a box that scrolls; and for axe, which walks through every element, a page with
  // these tokens alone, and formulas, whose letters are hidden from readers aloud, as empty as wide;
  // all is looked at before anything is changed
  plain: () => {
    const light = (colour) => {
      const [red, green, blue] = colour.match(/[\d.]+/g).slice(0, 3).map((part) => {
        const share = part / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
    };
    const seen = new Set();
    const faint = [];
    const again = [...document.querySelectorAll(".highlight pre span:not([id], :has(*))")].filter((token) => {
      const pair = [getComputedStyle(token).color, ground(token)];
      if (seen.has(pair.join())) return true;
      seen.add(pair.join());
      const [low, high] = pair.map(light).sort((a, b) => a - b);
      if (high < 4.5 * low) faint.push(`${token.textContent}: ${pair}`);
    });
    const formulas = [...document.querySelectorAll(".katex-html[aria-hidden]")];
    const widths = formulas.map((formula) => formula.scrollWidth || formula.getBoundingClientRect().width);
    formulas.forEach((formula, i) => {
      formula.textContent = "";
      formula.style.cssText = `display: inline-block; width: ${widths[i]}px`;
    });
    again.forEach((token) => token.replaceWith(token.textContent));
    return faint;
  },
  // marks text by whether its look, all that contrast depends on, is the first of its kind: axe takes
  // ten times as long where it compares each word with all that lies below it
  looks: () => {
    const seen = new Set();
    const opacity = (one) => one ? getComputedStyle(one).opacity * opacity(one.parentElement) : 1;
    for (const one of document.querySelectorAll("body *")) {
      const said = [...one.childNodes].some((part) => part.nodeType === Node.TEXT_NODE && part.data.trim());
      if (!said || !one.checkVisibility({ visibilityProperty: true })) continue;
      const { color, fontSize, fontWeight, textShadow } = getComputedStyle(one);
      const idle = Boolean(one.closest(":disabled, [aria-disabled=true], svg"));
      const look = [color, ground(one), opacity(one), fontSize, fontWeight, textShadow, idle].join();
      one.dataset.look = seen.has(look) ? "again" : "first";
      seen.add(look);
    }
  },
  // formulas with empty pieces, each as large and as low on its line as it was, for axe, which walks
  // through every element; asked again, it puts all back
  bare: () => {
    if (window.bared) return window.bared.forEach(([part, kept]) => {
      part.replaceChildren(...kept);
      part.style.cssText = "";
    });
    const pieces = [...document.querySelectorAll(".katex .base")];
    const styles = pieces.map((piece) => {
      const { width, height, bottom } = piece.getBoundingClientRect();
      const strut = piece.querySelector(".strut");
      const depth = bottom - strut.getBoundingClientRect().bottom - (parseFloat(getComputedStyle(strut).verticalAlign) || 0);
      return `width: ${width}px; height: ${height}px; vertical-align: ${-depth}px`;
    });
    window.bared = [...pieces, ...document.querySelectorAll(".katex-mathml")].map((part) => [part, [...part.childNodes]]);
    window.bared.forEach(([part]) => part.replaceChildren());
    pieces.forEach((piece, i) => { piece.style.cssText = styles[i]; });
  },
  // what a search puts first, for each query
  first: (queries) => queries.map((query) => {
    const found = Search._performSearch(...Search._parseQuery(spelled(query)));
    const [name, , anchor] = found.at(-1) ?? [];
    return name?.replace("chapters/", "") + anchor;
  }),
  // how many folds a click leaves as they were
  stuck: (folds) => folds.filter((fold) => {
    const wasOpen = fold.open;
    fold.querySelector("summary").click();
    return fold.open === wasOpen;
  }).length,
  // whether words in the book's font are as wide as in another
  fontIsUsed: () => {
    const pen = document.createElement("canvas").getContext("2d");
    const width = (font) => {
      pen.font = `40px ${font}`;
      return pen.measureText("All the Needles").width;
    };
    return width('"Source Serif 4", monospace') !== width("monospace");
  },
};
})()
