// The elements of the figure. Every control is a native one with a label of its own.

const BATCH = 100; // draws that a click adds
const MANY = 1000; // and that the next button adds
const REMEMBERED = 8; // earlier runs
const SPEEDS = [
  ["one a second", 1],
  ["four a second", 4],
  ["twenty a second", 20],
  ["a hundred a second", 100],
  ["as fast as it goes", 1e6],
];

const field = (label, control) => `<label><span>${label}</span> ${control}</label>`;

function markup({ targets, algorithms, start, note }) {
  const option = (value, text, chosen) =>
    `<option value="${value}"${value === chosen ? " selected" : ""}>${text}</option>`;
  const menu = (name, entries, chosen) =>
    `<select data-is="${name}" autocomplete="off">
      ${entries.map(([value, text]) => option(value, text, chosen)).join("")}</select>`;
  const number = (name, step) =>
    `<input type="number" data-is="${name}" step="${step}" autocomplete="off">`;
  const button = (name, text) => `<button type="button" data-is="${name}">${text}</button>`;
  const read = (name, text) => `<div><dt>${text}</dt><dd data-is="${name}">–</dd></div>`;
  const named = (table) => Object.entries(table).map(([name, { label }]) => [name, label]);
  const from = [
    ["all", "all draws"],
    ["half", "the second half"],
  ];
  return `
    <div class="arena-row">
      ${field("Target", menu("target", named(targets), start.target))}
      ${field("Algorithm", menu("algorithm", named(algorithms), start.algorithm))}
    </div>
    <div class="arena-row arena-settings" data-is="settings"></div>
    <div class="arena-stage">
      <canvas role="img" data-is="canvas"></canvas>
      <button type="button" class="arena-start" data-is="marker"></button>
    </div>
    <p class="arena-note">${note} Click the picture, or move the ring with the arrow keys, to place
    the start.</p>
    <div class="arena-row">
      ${button("step", "Step")} ${button("play", "Play")} ${button("batch", `+ ${BATCH} draws`)}
      ${button("many", `+ ${MANY} draws`)} ${button("restart", "Restart")}
      ${field(
        "Speed",
        menu(
          "speed",
          SPEEDS.map(([text], k) => [k, text]),
          1,
        ),
      )}
    </div>
    <p class="arena-words" role="status" data-is="words"></p>
    <dl>
      ${read("draws", "draws")} ${read("evaluations", "evaluations")}
      ${read("acceptance", "acceptance")} ${read("mean", "E[θ₁] ± MCSE")}
      ${read("exact", "E[θ₁], exact")} ${read("z", "z")} ${read("ess", "ESS")}
      ${read("efficiency", "ESS per 1000 evaluations")}
    </dl>
    <div class="arena-row">
      ${field("Start θ₁", number("startX", 0.1))} ${field("θ₂", number("startY", 0.1))}
      ${field("Seed", number("seed", 1))} ${field("Estimate from", menu("from", from, "all"))}
    </div>
    <details data-is="history" hidden><summary>Earlier runs</summary>
      <div class="arena-table" tabindex="0" role="group" aria-label="Earlier runs"><table>
      <thead><tr><th>target</th><th>algorithm</th><th>draws</th><th>z</th>
      <th>ESS per 1000 evaluations</th></tr></thead><tbody></tbody></table></div>
    </details>
    <p class="arena-certificate" data-is="certificate"></p>`;
}

/** Sliders for the settings that matter, each with its value beside it. */
function sliders(own, ranges) {
  return Object.entries(own)
    .map(([name, value]) => {
      const { label, values } = ranges[name];
      const slider =
        `<input type="range" min="0" max="${values.length - 1}" value="${values.indexOf(value)}" ` +
        `data-setting="${name}" aria-valuetext="${value}" autocomplete="off">`;
      return `<div>${field(label, slider)} <output aria-live="off">${value}</output></div>`;
    })
    .join("");
}
