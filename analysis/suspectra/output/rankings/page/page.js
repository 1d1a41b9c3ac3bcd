"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const ROW = 400; // tests drawn at first; the rest on demand

  // every text goes through textContent: nothing from the evidence is ever taken as markup
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // ------------------------------------------------------------------ what each test executed
  // a row is runs of statements: varints, alternately the gap before a run and its length
  const decoded = new Map();
  const runsOf = (test) => {
    const index = test.row;
    if (!decoded.has(index)) {
      const bytes = atob(data.rows[index] || "");
      const runs = [];
      let at = 0, value = 0, shift = 0, gap = -1;
      for (let i = 0; i < bytes.length; i++) {
        const byte = bytes.charCodeAt(i);
        value += (byte & 127) * 2 ** shift;
        if (byte & 128) { shift += 7; continue; }
        if (gap < 0) gap = value;
        else { at += gap; runs.push(at, at + value); at += value; gap = -1; }
        value = 0; shift = 0;
      }
      decoded.set(index, runs);
    }
    return decoded.get(index);
  };
  const executes = (test, statement) => {
    const runs = runsOf(test);
    let low = 0, high = runs.length / 2;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (runs[2 * middle + 1] <= statement) low = middle + 1; else high = middle;
    }
    return 2 * low < runs.length && runs[2 * low] <= statement;
  };

  // ------------------------------------------------------------------ state
  let file = -1;        // index of the file shown
  let statement = -1;   // number of the chosen statement, over all files
  let suspect = -1;     // position in the list, -1 when the chosen line is not in it
  let test = null;
  let rows = new Map(); // statement -> row element
  const fileOf = (number) => data.files.findIndex((f) => number >= f.start && number < f.start + f.line.length);
  const suspectAt = new Map(data.suspects.map((s, i) => [s.statement, i]));

  // ------------------------------------------------------------------ source
  const labels = data.files.map((f) => {
    const best = f.level.reduce((a, l) => (l >= 0 && l < a ? l : a), Infinity);
    return f.path + (best < Infinity ? `  (best rank ${data.levels[best].rank})` : f.test ? "  (test code)" : "");
  });
  const showFile = (index) => {
    if (index === file || index < 0) return;
    file = index;
    $("file").value = String(index);
    const shown = data.files[index];
    const holder = make("div", "lines");
    const head = make("div", "columns");
    for (const title of ["", "rank", "score", "line", shown.test ? "test code, not ranked" : ""]) head.append(make("span", "", title));
    holder.append(head);
    rows = new Map();
    const at = new Map(shown.line.map((line, i) => [line, i]));
    const inside = new Map(); // continuation lines take the colour of their statement
    shown.line.forEach((line, i) => { for (let l = line + 1; l <= shown.end[i]; l++) inside.set(l, i); });
    const lines = shown.text === null ? shown.line.map(() => "") : shown.text.split("\n");
    const number = (i) => (shown.text === null ? shown.line[i] : i + 1);
    lines.forEach((text, position) => {
      const line = number(position);
      const i = at.get(line);
      const level = data.levels[shown.level[i ?? inside.get(line)]];
      const row = make("div", "row" + (level && level.heat ? " h" + level.heat : ""));
      row.append(make("span", "ran"));
      if (i !== undefined) {
        const n = shown.start + i;
        rows.set(n, row);
        row.classList.add("statement");
        row.append(make("span", "rk", level && shown.ef[i] ? level.rank : ""), make("span", "sc", level && shown.ef[i] ? level.score : ""));
        const button = make("button", "", line);
        button.type = "button";
        button.tabIndex = -1;
        button.setAttribute("aria-label", `line ${line}` + (level ? `, rank ${level.rank}, score ${level.score}` : "") + `, executed by ${shown.ef[i]} failed and ${shown.ep[i]} passed tests`);
        const cell = make("span", "no");
        cell.append(button);
        row.append(cell);
        row.addEventListener("click", () => { if (!String(getSelection())) choose(n, false); });
      } else {
        row.append(make("span", "rk"), make("span", "sc"), make("span", "no", line));
      }
      row.append(make("span", "tx", text || " "));
      holder.append(row);
    });
    const source = $("source");
    source.replaceChildren();
    if (shown.note) source.append(make("p", "empty", shown.note));
    source.append(holder);
    source.scrollTop = 0;
    const first = rows.values().next().value;
    if (first) first.querySelector("button").tabIndex = 0;
    markTest();
  };

  const markTest = () => {
    const source = $("source");
    const touched = data.files.map((f) => test !== null && f.line.some((_, i) => executes(test, f.start + i)));
    [...$("file").options].forEach((option, i) => { option.textContent = (touched[i] ? "● " : "") + labels[i]; });
    const elsewhere = test !== null && !touched[file];
    $("elsewhere").textContent = elsewhere ? "The selected test executes no line of this file." + (touched.some(Boolean) ? " Files it does execute have a ● in the list above." : "") : "";
    source.classList.toggle("tested", test !== null && !elsewhere);
    for (const [n, row] of rows) {
      const hit = test !== null && executes(test, n);
      row.classList.toggle("hit", hit);
      row.firstChild.textContent = hit ? "●" : "";
      row.firstChild.title = hit ? "executed by the selected test" : "";
    }
  };

  // ------------------------------------------------------------------ why
  const showWhy = () => {
    const why = $("why");
    why.replaceChildren();
    const shown = data.files[file];
    const i = statement - (shown ? shown.start : 0);
    if (statement < 0 || !shown) return;
    const known = data.suspects[suspect];
    const level = data.levels[shown.level[i]];
    const left = make("div");
    const place = `${shown.path}:${shown.line[i]}`;
    left.append(make("h3", "", known ? known.headline : level ? `${place}: rank ${level.rank}, score ${level.score}` : `${place}: not ranked, it is test code`));
    for (const sentence of known ? known.sentences : []) left.append(make("p", "", sentence));
    if (known && known.formula) {
      const formula = make("details", "formula");
      formula.append(make("summary", "", "How is this computed?"), make("code", "", known.formula));
      if (known.substituted) formula.append(document.createTextNode(" → "), make("code", "", known.substituted));
      left.append(formula);
    }
    const ef = shown.ef[i], ep = shown.ep[i];
    const table = make("table");
    table.setAttribute("aria-label", "Tests by outcome and whether they execute the line");
    const cells = [["", "failed", "passed"], ["execute it", ["ef", ef], ["ep", ep]], ["do not", ["nf", data.failed - ef], ["np", data.passed - ep]]];
    cells.forEach((line, r) => {
      const row = table.insertRow();
      line.forEach((content, c) => {
        if (!r || !c) { row.append(make("th", "", content)); return; }
        const cell = row.insertCell();
        if (r === 1) cell.className = "hit";
        cell.append(make("small", "", content[0]), document.createTextNode(content[1]));
      });
    });
    why.append(left, table);
  };

  // ------------------------------------------------------------------ where next
  const showChain = () => {
    const holder = $("chain");
    if (!holder) return;
    let drawn = false;
    for (const figure of holder.querySelectorAll("figure")) {
      figure.hidden = Number(figure.dataset.chain) !== suspect;
      drawn ||= !figure.hidden;
    }
    holder.hidden = !drawn;
  };

  // ------------------------------------------------------------------ choosing a line
  const choose = (number, scroll = true) => {
    const index = fileOf(number);
    if (index < 0) return;
    rows.get(statement)?.classList.remove("chosen");
    showFile(index);
    statement = number;
    suspect = suspectAt.has(number) ? suspectAt.get(number) : -1;
    const row = rows.get(number);
    for (const other of rows.values()) { const b = other.querySelector("button"); if (b.tabIndex === 0) b.tabIndex = -1; }
    row.classList.add("chosen");
    row.querySelector("button").tabIndex = 0;
    document.querySelectorAll("[data-suspect][aria-current]").forEach((a) => a.removeAttribute("aria-current"));
    const link = document.querySelector(`[data-suspect="${suspect}"]`);
    if (link) { link.setAttribute("aria-current", "true"); link.scrollIntoView({ block: "nearest" }); }
    showWhy();
    showChain();
    if (scroll) {
      const source = $("source");
      source.scrollTop += row.getBoundingClientRect().top - source.getBoundingClientRect().top - source.clientHeight / 3;
      source.scrollLeft = 0;
    }
    try { history.replaceState(null, "", "#" + encodeURI(`${data.files[index].path}:${data.files[index].line[number - data.files[index].start]}`)); } catch { /* not allowed everywhere */ }
    if ($("only").checked) showTests();
  };
  const step = (by) => {
    const next = Math.min(Math.max(suspect + by, 0), data.suspects.length - 1);
    if (data.suspects.length) choose(data.suspects[next].statement);
  };

  // ------------------------------------------------------------------ tests
  let limit = ROW;
  const showTests = () => {
    const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = $("only").checked && statement >= 0;
    const matching = data.tests.filter((t) => words.every((w) => t.name.toLowerCase().includes(w)) && (!only || executes(t, statement)));
    const failing = matching.filter((t) => t.failing).length;
    $("tests-count").textContent = `${matching.length} of ${data.tests.length}` + (failing ? `, ${failing} failing` : "");
    const holder = $("tests");
    holder.replaceChildren();
    for (const t of matching.slice(0, limit)) {
      const button = make("button", "test");
      button.type = "button";
      button.setAttribute("aria-pressed", String(t === test));
      const [where, ...rest] = t.name.split("::");
      const name = make("span", "name", rest.length ? rest.join("::") : where);
      if (rest.length) name.append(make("small", "", where));
      if (t.flaky) name.append(make("span", "flaky", "flaky: passed when run again"));
      button.append(make("span", "outcome " + t.verdict, t.verdict), name);
      if (t.message) { const m = make("span", "message", t.message); m.title = t.message; button.append(m); }
      if (t.calls.length) { const c = make("span", "message", `at ${t.calls[0]}`); c.title = t.calls.join("\n"); button.append(c); }
      button.addEventListener("click", () => pick(t === test ? null : t));
      holder.append(button);
    }
    if (!matching.length) holder.append(make("p", "more", only ? "No test executes the selected line." : "No test has such a name."));
    if (matching.length > limit) {
      const more = make("button", "more quiet", `Show ${matching.length - limit} more`);
      more.type = "button";
      more.addEventListener("click", () => { limit = Infinity; showTests(); });
      holder.append(more);
    }
  };
  const pick = (chosen) => {
    test = chosen;
    const shown = [...$("tests").querySelectorAll(".test")];
    const at = document.activeElement && shown.indexOf(document.activeElement);
    const top = $("tests").scrollTop;
    showTests();
    $("tests").scrollTop = top;
    if (at >= 0) $("tests").querySelectorAll(".test")[at]?.focus({ preventScroll: true });
    markTest();
  };

  // ------------------------------------------------------------------ events
  data.files.forEach((f, i) => {
    const option = make("option", "", labels[i]);
    option.value = String(i);
    $("file").append(option);
  });
  $("file").addEventListener("change", (event) => { statement = -1; suspect = -1; showFile(Number(event.target.value)); showWhy(); showChain(); });
  document.querySelectorAll("[data-suspect]").forEach((link) => link.addEventListener("click", (event) => {
    event.preventDefault();
    choose(data.suspects[Number(link.dataset.suspect)].statement);
  }));
  $("source").addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const all = [...rows.keys()];
    const focused = all.findIndex((n) => rows.get(n).contains(document.activeElement));
    const next = all[Math.min(Math.max(focused + by, 0), all.length - 1)];
    if (next === undefined) return;
    choose(next, false);
    rows.get(next).querySelector("button").focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "j") step(suspect < 0 ? 0 : 1);
    else if (event.key === "k") step(-1);
    else if (event.key === "Escape" && test) pick(null);
    else if (event.key === "/") { event.preventDefault(); $("filter").focus(); }
  });
  let waiting = 0;
  $("filter").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => { limit = ROW; showTests(); }, 80); });
  $("only").addEventListener("change", showTests);
  $("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("suspectra-theme", root.dataset.theme); } catch { /* private mode */ }
  });
  try { const theme = localStorage.getItem("suspectra-theme"); if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme; } catch { /* private mode */ }

  // ------------------------------------------------------------------ start
  showTests();
  /** Choose the statement that the address names; whether there is one. */
  const follow = () => {
    let wanted = "";
    try { wanted = decodeURI(location.hash.slice(1)); } catch { /* not ours */ }
    const [, path, line] = /^(.*):(\d+)$/.exec(wanted) || [];
    const start = data.files.find((f) => f.path === path);
    const there = start ? start.line.findIndex((l, i) => l <= Number(line) && start.end[i] >= Number(line)) : -1;
    if (there >= 0) choose(start.start + there);
    return there >= 0;
  };
  window.addEventListener("hashchange", follow);
  if (!follow()) {
    if (data.suspects.length) choose(data.suspects[0].statement);
    else if (data.files.length) showFile(0);
  }
})();
