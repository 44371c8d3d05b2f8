"use strict";
(() => {
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const one = (what, where = document) => where.querySelector(what);
  const filter = one("[data-filter]");
  const shown = one("#shown");

  // Filtering and sorting work on the rows that are there; without this file the server's own filter does.
  function applyFilter() {
    if (!filter) return;
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = all("[data-row]", one("#" + filter.dataset.filter) || document);
    let left = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      left += !row.hidden;
    }
    const told = words.length ? left + " of " + rows.length + " shown" : "";
    if (shown && shown.textContent !== told) shown.textContent = told;
  }

  let sorted = null;
  function value(row, at, numeric) {
    const cell = row.cells[at];
    const text = cell ? cell.dataset.value ?? cell.textContent.trim() : "";
    return numeric ? Number(text) || 0 : text.toLowerCase();
  }
  function applySort() {
    if (!sorted) return;
    const { table, at, numeric, up } = sorted;
    const body = table.tBodies[0];
    const rows = all("tr", body).map((row) => [value(row, at, numeric), row]);
    rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1));
    body.append(...rows.map(([, row]) => row));
  }
  for (const table of all("table[data-sortable]")) {
    all("th[data-sort]", table).forEach((head) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        all("th[aria-sort]", table).forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        sorted = { table, at: head.cellIndex, numeric: head.dataset.sort === "number", up };
        applySort();
      });
    });
  }
  if (filter) {
    filter.addEventListener("input", applyFilter);
    filter.form.addEventListener("submit", (event) => { if (!filter.form.action.includes("index.html")) event.preventDefault(); });
    applyFilter();
  }

  // Keys: j and k go from row to row, / to the filter, ? shows the list.
  const help = one("#help");
  const keys = one("#keys");
  if (keys) { keys.hidden = false; keys.addEventListener("click", () => help.showModal()); }
  function step(by) {
    const links = all("[data-row]").filter((row) => !row.hidden).map((row) => one("th a", row)).filter(Boolean);
    const at = links.indexOf(document.activeElement);
    const next = links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + by))];
    if (next) next.focus();
  }
  const go = (what) => { const link = one(what); if (link) link.click(); };
  const acts = {
    "/": () => filter && filter.focus(), "?": () => help.showModal(), j: () => step(1), k: () => step(-1),
    n: () => go("a[rel=next]"), p: () => go("a[rel=prev]"), u: () => go("a[data-up]"),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (event.target.matches("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (acts[event.key]) { event.preventDefault(); acts[event.key](); }
  });

  // A page of something that goes on asks what is new, and puts it in its place; the focus and the choices stay.
  const live = document.body.dataset.live;
  const every = Number(document.body.dataset.every);
  const said = one("#said");
  let state = document.body.dataset.state;
  let faults = 0;
  const say = (text) => { if (said.textContent !== text) said.textContent = text; };

  function put(parts) {
    const focused = document.activeElement && document.activeElement.getAttribute("href");
    const picked = new Set(all("input[name=run]:checked").map((box) => box.value));
    for (const [id, html] of Object.entries(parts)) {
      const place = document.getElementById(id);
      if (!place) continue;
      const had = new Set(all("[data-row] th a", place).map((link) => link.getAttribute("href")));
      place.innerHTML = html;
      if (had.size) all("[data-row] th a", place).forEach((link) => {
        if (!had.has(link.getAttribute("href"))) link.closest("tr").classList.add("fresh");
      });
    }
    all("input[name=run]").forEach((box) => { box.checked = picked.has(box.value); });
    if (focused) { const again = all("a").find((link) => link.getAttribute("href") === focused); if (again) again.focus(); }
    applySort();
    applyFilter();
  }
  async function ask(address) {
    const answer = await fetch(address, { cache: "no-store", credentials: "same-origin" });
    if (answer.status === 204) return null;
    if (!answer.ok) throw new Error(answer.status);
    return answer.json();
  }
  let drawing = null;
  function charts() {
    drawing ??= ask(document.body.dataset.charts).then((told) => put(told.parts)).catch(() => {}).finally(() => { drawing = null; });
  }
  async function look() {
    let wait = document.hidden ? 4 * every : every;
    try {
      const query = new URLSearchParams(location.search);
      query.set("state", state);
      const told = await ask(live + "?" + query);
      faults = 0;
      if (told && told.error) say(told.error);
      else if (told) {
        state = told.state;
        put(told.parts);
        say(told.said);
        document.body.dataset.seen = told.state;
        if (told.charts && document.body.dataset.charts) charts();
      }
    } catch {
      faults += 1;
      wait = Math.min(30000, 1000 * 2 ** faults);
      if (faults > 1) say("klab view does not answer: start it again to go on");
    }
    setTimeout(look, wait);
  }
  if (document.body.dataset.charts) charts();
  if (live) setTimeout(look, every);
})();
