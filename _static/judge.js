// The checker of exercises in the browser: `judge(asked, text, tried)` says of an answer what
// `needles.check` says of it. What is asked comes from the exercise's definition (answers.py).
(() => {
  const HEADINGS = { right: "Right.", blank: "Nothing to check yet.", recipe: "The way there." };
  const CONSTANTS = { pi: Math.PI, π: Math.PI, e: Math.E };
  const FUNCTIONS = {
    sqrt: Math.sqrt, exp: Math.exp, log: Math.log, ln: Math.log, atan: Math.atan, arctan: Math.atan,
  };
  const KNOWN = new Set([CONSTANTS, FUNCTIONS].flatMap(Object.keys));
  const COUNTS = ["no", "one", "two", "three", "four", "five", "six"];
  const TOKEN = /\s*(?:(\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?)|([a-zπ]+)|(\*\*|[-+*/^()%]))/iy;

  class Unreadable extends Error {}

  // ---- reading: numbers, and what one would type into a pocket calculator ----

  const tokens = (text) => {
    const found = [];
    TOKEN.lastIndex = 0;
    while (TOKEN.lastIndex < text.trimEnd().length) {
      const match = TOKEN.exec(text);
      if (!match) return null;
      const [, number, word, sign] = match;
      found.push(number ? Number(number) : (word || sign).toLowerCase());
    }
    return found;
  };

  const value = (text) => {
    const rest = tokens(text.replace(/^.*[=≈~<>≤≥]/, "")); // of "N ≈ 5" the number
    const fail = () => { throw new SyntaxError(); };
    const next = () => (rest.length ? rest.shift() : fail());
    const bracket = () => {
      const inner = sum();
      return next() === ")" ? inner : fail();
    };
    const atom = () => {
      const token = next();
      if (typeof token === "number") return token;
      if (token === "(") return bracket();
      if (Object.hasOwn(CONSTANTS, token)) return CONSTANTS[token];
      if (Object.hasOwn(FUNCTIONS, token)) return FUNCTIONS[token](atom());
      return fail();
    };
    const power = () => {
      let base = atom();
      if (rest[0] === "%") {
        rest.shift();
        base /= 100;
      }
      if (rest[0] !== "^" && rest[0] !== "**") return base;
      rest.shift();
      return base ** signed();
    };
    const signed = () => {
      if (rest[0] !== "-" && rest[0] !== "+") return power();
      return rest.shift() === "-" ? -signed() : signed();
    };
    const product = () => {
      let found = signed();
      while (rest[0] === "*" || rest[0] === "/") {
        if (rest.shift() === "*") found *= signed();
        else found /= signed();
      }
      return found;
    };
    const sum = () => {
      let found = product();
      while (rest[0] === "+" || rest[0] === "-") {
        if (rest.shift() === "+") found += product();
        else found -= product();
      }
      return found;
    };
    if (!rest) fail();
    const found = sum();
    return rest.length ? fail() : found;
  };

  // Parts between commas that no bracket holds.
  const parts = (text) => {
    const found = [""];
    let depth = 0;
    for (const sign of text) {
      depth += (sign === "(") - (sign === ")");
      if ((sign === "," || sign === ";") && depth === 0) found.push("");
      else found[found.length - 1] += sign;
    }
    return found;
  };

  // Signs that one may write otherwise.
  const SIGNS = [
    [/−/g, "-"], [/[×·]/g, "*"], [/÷/g, "/"], [/(\d)√/g, "$1*√"], [/√/g, "sqrt "],
    [/±|\+\/-|\s\+-\s|,?\s+and\s|[|&→]/g, ","],
    [/[⁰¹²³⁴-⁹⁻]+/g, (power) => `^${power.normalize("NFKC").replace("\u2212", "-")}`],
    [/(\d)\s+e(?=[-+]?\d)/gi, "$1e"], [/\s*per\s?cent\b/gi, "%"], [/([\d)%\]}])\.$/, "$1"],
    [/(\d)(?:\s*x\s*(?=10\s*(?:\^|\*\*))|\s+x\s+(?=[\d.(]))/gi, "$1*"],
  ];
  const COMMA =
    " The decimal sign is a point, and thousands take neither comma nor space: 2e6 is two million.";

  // What answers.py knows, too: a number with a unit or in words.
  const SCALES = { hundred: "e2", thousand: "e3", k: "e3", million: "e6", M: "e6", billion: "e9" };
  const MEASURED = new RegExp(
    "^(?:.*[=≈~<>≤≥]\\s*|(?:about|around|roughly|nearly|ca\\.?|approx\\w*\\.?)\\s+)?" +
    "([-+]?(?:\\d(?:[\\d,]|\\s(?=\\d{3}))*\\.?\\d*|\\.\\d+)(?:e[-+]?\\d+)?(?:[*/^]\\d+)*%?)" +
    "\\s*(?:(\\p{L}+|[°$€£(])(?:\\D|\\^-?\\d)*)?$", "iu",
  );
  // As pages write it; 3.000.000 can be nothing else.
  const THOUSANDS = /^[-+]?[1-9]\d{0,2}(?:(?:[,\s'’]\d{3})+(?:\.\d+)?|(?:\.\d{3}){2,})$/;
  const joined = (text) =>
    THOUSANDS.test(text) ? text.replace(/\..*\./.test(text) ? /\./g : /[,\s'’]/g, "") : text;

  // What may have been meant otherwise.
  const TAKEN = /(?:^|[=≈~<>≤≥]\s*)([-+]?(?:[1-9]\d{0,2},\d{3}|\d*\.?\d+\s*(?:%|per\s?cent)))$/;

  const reads = (text) => {
    try {
      return Number.isFinite(value(text));
    } catch {
      return false;
    }
  };
  // The sentence that mends what is not read: the reader's own number.
  const alone = (plain, many) => {
    if (!/\d/.test(plain) && /\p{L}{2}/u.test(plain)) return " Write it in digits.";
    const product = plain.replace(/(\d)\s*(?=[a-zπ(])/gi, "$1*");
    if (reads(product)) return ` Write products with a star: ${product}.`;
    const found = (many ? parts(plain) : [plain]).map((part) => {
      const [, digits, word] = MEASURED.exec(part.trim()) || [];
      if (!digits) return "";
      const number = joined(digits).replace(",", ".") + (SCALES[word] || "");
      if (!reads(number)) return "";
      return number.endsWith("%") ? String(Number(value(number).toPrecision(12))) : number;
    });
    if (!found.every(Boolean)) {
      const words = plain.replace(/[^,;]*[=≈~<>≤≥]/g, "").match(/\p{L}+/gu) || [];
      const unknown = words.find((word) => !KNOWN.has(word.toLowerCase()));
      return unknown ? ` '${unknown}' is none.` : "";
    }
    return ` Write the number${found.length > 1 ? "s" : ""} alone: ${found.join(", ")}.`;
  };

  // Of commas that are no separators, what was meant.
  const commas = (text, count) => {
    const pieces = text.split(/;\s*|\s+/);
    const meant = pieces.map((piece) => piece.replace(",", "."));
    if (pieces.length !== count || pieces.some((one) => THOUSANDS.test(one)) || !meant.every(reads)) {
      return COMMA;
    }
    return ` The decimal sign is a point: ${meant.join(", ")}.`;
  };

  const numbers = (text, wanted) => {
    const many = wanted > 1;
    const plain = SIGNS.reduce((found, [sign, other]) => found.replace(sign, other), text.trim());
    const listed = plain.replace(/^[[{](.*)[\]}]$/, "$1").replace(/,\s*$/, "");
    const bare = many ? listed : joined(listed.replace(/^.*[=≈~<>≤≥]\s*/, ""));
    const inner = bare.replace(/^\((.*)\)$/, "$1");
    const readings = [parts(bare), parts(inner), inner.split(/\s+/)];
    for (const reading of readings) {
      try {
        return reading.map(value);
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
      }
    }
    const shown = text.length <= 58 ? `'${text}'` : `a text of ${text.length} characters`;
    const help = alone(plain, many) || (/\d,\d/.test(text) ? commas(text, wanted) : "");
    throw new Unreadable(`This asks for numbers, and you gave ${shown}.${help}`);
  };

  const read = (asked, text) => {
    if (asked.options) return text;
    const given = numbers(text, asked.truth.length);
    const [wanted, count] = [asked.truth.length, given.length].map((n) => COUNTS[n] || String(n));
    if (wanted !== count) {
      const words = wanted === "one" ? "One number is" : `${wanted[0].toUpperCase()}${wanted.slice(1)} numbers are`;
      const comma = given.length > asked.truth.length && /\d[, ]\d/.test(text);
      const run = given.length === 1 && (/\d[^\d.e]+\d/i.test(text) || text.length === asked.truth.length);
      const help = comma ? commas(text, asked.truth.length) : run ? " Put commas between." : "";
      throw new Unreadable(`${words} asked for, and you gave ${count}.${help}`);
    }
    const odd = given.filter((number) => !Number.isFinite(number));
    if (odd.length) {
      const shown = Number.isNaN(odd[0]) ? "nan" : odd[0] > 0 ? "inf" : "-inf";
      throw new Unreadable(`The answer holds ${shown}; ${odd.length} of ${given.length} not finite.`);
    }
    return given;
  };

  // ---- judging ----

  const within = (given, truth, allowed) =>
    given.every((number, i) => Math.abs(number - truth[i]) <= allowed[i]);

  // Elementwise, a single number with each.
  const each = (f) => (a, b) => {
    if (!Array.isArray(a) && !Array.isArray(b)) return f(a, b);
    return (Array.isArray(a) ? a : b).map((_, i) => f(Array.isArray(a) ? a[i] : a, Array.isArray(b) ? b[i] : b));
  };
  const every = (a) => [a].flat().every(Boolean);
  const isClose = (a, b, rtol, atol) =>
    each((x, y) => Math.abs(x - y) <= atol + rtol * Math.abs(y))(a, b);
  const OPERATIONS = {
    list: (...entries) => entries,
    at: (a, i) => a[i],
    reversed: (a) => [...a].reverse(),
    sort: (a) => [...a].sort((x, y) => x - y),
    negative: each((x) => -x),
    absolute: each(Math.abs),
    exp: each(Math.exp),
    log: each(Math.log),
    sqrt: each(Math.sqrt),
    add: each((x, y) => x + y),
    subtract: each((x, y) => x - y),
    multiply: each((x, y) => x * y),
    divide: each((x, y) => x / y),
    remainder: each((x, y) => x % y),
    power: each((x, y) => x ** y),
    less: each((x, y) => x < y),
    less_equal: each((x, y) => x <= y),
    greater: each((x, y) => x > y),
    greater_equal: each((x, y) => x >= y),
    equal: each((x, y) => x === y),
    not_equal: each((x, y) => x !== y),
    isclose: isClose,
    allclose: (...args) => every(isClose(...args)),
    array_equal: (a, b) => every(each((x, y) => x === y)(a, b)),
    any: (a) => [a].flat().some(Boolean),
    all: every,
    if: (condition, yes, no) => (condition ? yes : no),
  };
  const evaluate = (note, answer) => {
    if (!Array.isArray(note)) return note === "answer" ? answer : note;
    const [name, ...operands] = note;
    return OPERATIONS[name](...operands.map((operand) => evaluate(operand, answer)));
  };

  const applies = (mistake, given) => {
    if ("option" in mistake) return mistake.option === given;
    if ("value" in mistake) return within(given, mistake.value, mistake.allowed);
    return evaluate(mistake.holds, mistake.holdsOne ? given[0] : given);
  };

  const explain = (asked, given) => {
    if (asked.options) return `It is not '${given}'.`;
    const { truth, allowed, isOne } = asked;
    const error = given.map((number, i) => Math.abs(number - truth[i]));
    const wrong = error.flatMap((size, i) => (size <= allowed[i] ? [] : [i + 1]));
    const far = wrong.filter((i) => !(error[i - 1] <= asked.near[i - 1]));
    const places = (list) => `${list.length === 1 ? "entry" : "entries"} ${list.join(", ")}`;
    const where = isOne ? "" : ` in ${places(wrong)} of ${truth.length}`;
    if (!far.length) {
      if (wrong.some((i) => error[i - 1] === 1)) return `Close${where}. Off by one, perhaps in counting.`;
      return `Close${where}. Was something rounded on the way? ${asked.precision}`;
    }
    if (within(given.map((x) => -x), truth, allowed)) return "The size is right, the sign is not.";
    if (isOne && truth[0] > 0 && within(given.map(Math.exp), truth, allowed)) {
      return "That is the logarithm of the right answer.";
    }
    if (isOne) return "The answer is another number.";
    if (truth.length === 2 && within([...given].reverse(), truth, allowed)) {
      return "Both right, in the wrong order.";
    }
    if (truth.length > 2 && new Set(truth).size === 2) { // what is wrong tells what is right
      return `Not all of the ${truth.length} entries are right.`;
    }
    if (far.length === truth.length) return `None of the ${truth.length} entries is right.`;
    const right = truth.flatMap((_, i) => (wrong.includes(i + 1) ? [] : [i + 1]));
    const close = wrong.filter((i) => !far.includes(i));
    const kinds = [["Right", right], ["Close", close], ["Another number", far]];
    return kinds.filter(([, list]) => list.length).map(([kind, list]) => `${kind}: ${places(list)}.`).join(" ");
  };

  const verdict = (asked, text, tried) => {
    const bare = text.trim();
    if (bare === "?" && asked.recipe) return ["recipe", asked.recipe];
    if (["", "...", "…", "?"].includes(bare)) return ["blank", asked.precision];
    let given;
    try {
      given = read(asked, bare);
    } catch (error) {
      if (error instanceof Unreadable) return ["unreadable", error.message];
      throw error;
    }
    if (asked.options ? given === asked.truth : within(given, asked.truth, asked.allowed)) {
      return ["right", asked.praise];
    }
    const [, one] = (!asked.options && asked.truth.length === 1 && TAKEN.exec(bare)) || [];
    const point = one && one.includes(",") ? "; the decimal sign is a point" : "";
    const taken = one ? `${one} is read as ${Number(given[0].toPrecision(12))}${point}. ` : "";
    const mistake = asked.mistakes.find((one) => applies(one, given));
    if (mistake) return ["mistake", taken + mistake.message];
    tried.add(String(given));
    const more = tried.size >= 3 ? asked.recipe : "There is a hint under the exercise.";
    return ["wrong", `${taken}${explain(asked, given)} ${more}`.trim()];
  };

  // What answers.py scrambled.
  const unscramble = (text) => {
    const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0) ^ 0x5a);
    return JSON.parse(new TextDecoder().decode(bytes));
  };

  // Returns { outcome, heading, message }; `tried` is the Set of wrong answers that nothing explains.
  const judge = (asked, text, tried) => {
    const [outcome, message] = verdict(asked, text, tried);
    return { outcome, heading: HEADINGS[outcome] || "Not yet.", message };
  };
  globalThis.judge = Object.assign(judge, { unscramble });
})();
