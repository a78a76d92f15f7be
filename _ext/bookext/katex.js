// Formulas in on standard input, HTML out: one JSON object a line each way.
const katex = require(process.argv[2]);
const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const { formula, options } = JSON.parse(line);
  let answer;
  try {
    answer = { html: katex.renderToString(formula, options) };
  } catch (error) {
    answer = { error: error.message };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
});
