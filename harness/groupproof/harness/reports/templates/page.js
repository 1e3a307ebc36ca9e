"use strict";
(() => {
  const items = [...document.querySelectorAll("[data-item]")];
  const groups = [...document.querySelectorAll("[data-group]")];
  const chips = [...document.querySelectorAll(".chip[data-verdict]")];
  const field = (name) => document.querySelector(`[data-filter="${name}"]`);
  const fields = ["side", "area", "level", "goodbye", "same", "q"].filter((name) => field(name));
  const shown = document.querySelector("[data-shown]");

  // The state lives in the part of the URL that no browser sends or forbids on a page from disk. A link may give it behind a ? as well.
  const read = () => new URLSearchParams(location.hash.length > 1 ? location.hash.slice(1) : location.search.slice(1));
  const write = (state) => {
    const text = state.toString().replaceAll("%2F", "/").replaceAll("%2C", ",");
    try { history.replaceState(null, "", location.pathname + (text ? `#${text}` : "")); } catch { location.hash = text; }
  };
  const set = (name, value) => {
    const state = read();
    value ? state.set(name, value) : state.delete(name);
    if (name !== "theme") state.delete("case");
    write(state);
    apply();
  };
  const picked = (state) => (state.get("verdict") || "").split(",").filter(Boolean);

  const matches = (item, state, verdicts) => {
    const data = item.dataset;
    const words = (state.get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);
    return (!verdicts.length || verdicts.some((each) => data.verdicts.split(" ").includes(each)))
      && (!state.get("side") || data.side === state.get("side"))
      && (!state.get("area") || data.area === state.get("area"))
      && (!state.get("level") || data.level === state.get("level"))
      && (!state.get("goodbye") || data.goodbye === state.get("goodbye"))
      && (!state.get("same") || data.same === state.get("same"))
      && words.every((word) => data.search.includes(word));
  };

  const apply = () => {
    const state = read();
    const verdicts = picked(state);
    const wanted = state.get("case");
    let count = 0;
    for (const item of items) {
      const match = matches(item, state, verdicts);
      count += match;
      item.hidden = !match && item.dataset.item !== wanted;
    }
    for (const group of groups) group.hidden = !group.querySelector("[data-item]:not([hidden])");
    for (const chip of chips) chip.setAttribute("aria-pressed", String(verdicts.includes(chip.dataset.verdict)));
    for (const name of fields) if (field(name).value !== (state.get(name) || "")) field(name).value = state.get(name) || "";
    if (shown) shown.textContent = count === items.length ? `all ${count}` : `${count} of ${items.length}`;
    const theme = state.get("theme");
    theme ? document.documentElement.setAttribute("data-theme", theme) : document.documentElement.removeAttribute("data-theme");
  };

  const reveal = () => {
    const wanted = read().get("case");
    const item = wanted && items.find((each) => each.dataset.item === wanted);
    if (!item) return;
    if ("open" in item) item.open = true;
    item.scrollIntoView();
  };

  for (const chip of chips) chip.addEventListener("click", () => {
    const verdicts = picked(read());
    const verdict = chip.dataset.verdict;
    set("verdict", (verdicts.includes(verdict) ? verdicts.filter((each) => each !== verdict) : [...verdicts, verdict]).join(","));
  });
  for (const name of fields) field(name).addEventListener("input", (event) => set(name, event.target.value));
  const panel = document.querySelector("[data-panel]");
  const part = (name) => panel.querySelector(`[data-panel-${name}]`);
  const show = (cell) => {
    const row = cell.closest("[data-item]");
    const column = document.querySelectorAll("th[data-command]")[Number(cell.dataset.cell)];
    const badge = cell.querySelector(".badge");
    const [before, program] = column.dataset.command.split(/ -- (.*)/s);
    const command = `${before} --only ${row.dataset.item}${program ? ` -- ${program}` : ""}`;
    part("name").textContent = column.dataset.name;
    part("case").textContent = row.dataset.item;
    part("verdict").textContent = badge.textContent;
    part("text").textContent = [row.querySelector("th").title, badge.title].filter(Boolean).join(" → ");
    part("command").textContent = command;
    part("copy").dataset.copy = command;
    part("copy").textContent = "copy";
    panel.hidden = false;
  };
  document.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-cell]");
    if (cell && !event.target.closest("a")) show(cell);
    if (event.target.closest("[data-panel-close]")) panel.hidden = true;
    const copy = event.target.closest("[data-copy]");
    if (copy) navigator.clipboard?.writeText(copy.dataset.copy).then(() => { copy.textContent = "copied"; });
    if (event.target.closest("[data-clear]")) { const theme = read().get("theme"); write(new URLSearchParams(theme ? { theme } : {})); apply(); }
    if (event.target.closest("[data-theme-switch]")) {
      const dark = getComputedStyle(document.documentElement).colorScheme.includes("dark");
      set("theme", dark ? "light" : "dark");
    }
  });
  for (const item of items) item.addEventListener("toggle", () => {
    if (!item.open) return;
    const state = read();
    state.set("case", item.dataset.item);
    write(state);
  });
  addEventListener("hashchange", () => { apply(); reveal(); });
  apply();
  reveal();
})();
