// What the search puts first: a definition, then the section that teaches, then what lists and drills.
const LATER =
  /^chapters\/(exercises|cards|bug_zoo|notation|bibliography|trust|teach|api(?!_(target|errors)))/;
const ASIDE = /^(Exercises|Cards|Ten questions|Corrected here|Summary|History|The methods, each)/;
// What looks like code, as bl.nuts or num_warmup, is looked up in the reference.
let isCode = false;
// The book writes optimise, and its index optimis; and bl. stands before every name.
const spelled = (query) => {
  isCode = /[a-z]\w*([._][a-z]|\()/i.test(query);
  return query
    .replace(/\b(bl|bayeslib)\./g, "")
    .replace(/(?<=\w{4})iz(?=(e|ed|er|es|ing|ations?)\b)/gi, "is");
};
var Scorer = {
  score: ([page, title, anchor, , score]) =>
    score *
    (isCode && page.startsWith("chapters/api") ? 8 : LATER.test(page) ? 0.5 : 1) *
    (ASIDE.test(title) ? 0.5 : 1) *
    (page === "chapters/glossary" ? 1.02 : anchor ? 1 : 1.01),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  often: 9,
  term: 5,
  partialTerm: 2,
};
