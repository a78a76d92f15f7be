({
  // the colour of the most opaque dot above the square, and that of the page
  mostOpaque: (canvas) => {
    const { width } = canvas;
    const { data } = canvas.getContext("2d").getImageData(0.2 * width, 0, 0.6 * width, 50);
    let best = 0;
    for (let k = 4; k < data.length; k += 4) if (data[k + 3] > data[best + 3]) best = k;
    const page = getComputedStyle(document.body).backgroundColor.match(/\d+/g);
    return [[...data.slice(best, best + 3)], page.slice(0, 3).map(Number)];
  },
  // how wide a coordinate is, and how much room it has
  room: (box) => {
    const style = getComputedStyle(box);
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = style.font;
    const padding = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
    const arrows = 20;
    return [pen.measureText("-0.84").width + arrows, box.clientWidth - padding];
  },
  // as JupyterLab does: the HTML parsed apart, its scripts made anew, all of it then attached
  insert: (html) => {
    const host = document.createElement("div");
    host.innerHTML = html;
    for (const old of host.querySelectorAll("script")) {
      const script = document.createElement("script");
      script.textContent = old.textContent;
      old.replaceWith(script);
    }
    document.querySelector("main").append(host);
  },
})
