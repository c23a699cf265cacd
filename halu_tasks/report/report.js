// The page can be read without this script, which only sorts, filters and hides elements, and creates none from strings.
"use strict";
(function () {
  const PAGE = 10;
  const byId = (id) => document.getElementById(id);
  const all = (selector, from) => Array.from((from || document).querySelectorAll(selector));
  const say = (text) => { byId("said").textContent = text; };

  function theme() {
    const root = document.documentElement, button = byId("theme");
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
    const show = () => {
      button.textContent = dark() ? "Light" : "Dark";
      button.setAttribute("aria-label", dark() ? "Light colours" : "Dark colours");
    };
    button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; show(); });
    system.addEventListener("change", show);
    button.hidden = false;
    show();
  }

  // rows without a figure stay last in either direction
  function sort(head, direction) {
    const body = head.closest("table").tBodies[0], index = head.cellIndex;
    const sign = direction === "descending" ? -1 : 1;
    const keyed = Array.from(body.rows, (row) => {
      const cell = row.cells[index];
      if (cell.dataset.v === undefined) return { row, key: cell.textContent.trim().toLowerCase(), none: false };
      return { row, key: Number(cell.dataset.v), none: cell.dataset.v === "" };
    });
    keyed.sort((a, b) => a.none - b.none || (a.none ? 0 : sign * (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)));
    body.append(...keyed.map((entry) => entry.row));
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", direction);
  }

  function sorting() {
    for (const button of all(".sort")) {
      button.addEventListener("click", () => {
        const head = button.closest("th"), first = button.dataset.first, now = head.getAttribute("aria-sort");
        const direction = now === first ? (first === "ascending" ? "descending" : "ascending") : first;
        sort(head, direction);
        say("Sorted by " + button.textContent.trim() + ", " + direction);
      });
    }
  }

  // columns and rows of leaderboards with any of the words in their heads
  function choosing() {
    const tasks = byId("b-tasks"), models = byId("b-models");
    if (!tasks) return;
    const fits = (head, control) =>
      control.value.toLowerCase().trim().split(/\s+/).some((word) => head.textContent.toLowerCase().includes(word));
    const show = () => {
      for (const table of all(".board")) {
        const shown = Array.from(table.tHead.rows[0].cells, (head, index) => !index || fits(head, tasks));
        for (const row of table.rows) Array.from(row.cells).forEach((cell, index) => { cell.hidden = !shown[index]; });
        for (const row of table.tBodies[0].rows) {
          if (row.classList.contains("entry")) row.hidden = !fits(row.cells[0], models);
        }
      }
    };
    tasks.addEventListener("input", show);
    models.addEventListener("input", show);
  }

  function pairing() {
    const first = byId("first"), second = byId("second");
    if (!first) return;
    const pairs = all(".pair");
    const show = () => {
      const ids = ["pair-" + first.value + "-" + second.value, "pair-" + second.value + "-" + first.value];
      for (const pair of pairs) pair.hidden = !ids.includes(pair.id);
      byId("no-pair").hidden = pairs.some((pair) => !pair.hidden);
    };
    first.addEventListener("change", show);
    second.addEventListener("change", show);
    for (const link of all(".wins a")) {
      link.addEventListener("click", () => {
        first.value = link.dataset.first;
        second.value = link.dataset.second;
        show();
      });
    }
    show();
  }

  function filtering() {
    const list = byId("item-list");
    if (!list) return;
    const items = all(".item", list);
    const column = byId("f-column"), kind = byId("f-kind"), entry = byId("f-entry");
    const text = byId("f-text"), wrong = byId("f-wrong");
    const has = (item, name, value) => item.dataset[name].split(" ").includes(value);
    let matching = items, page = 0;
    const fits = (item) =>
      (!column.value || item.dataset.column === column.value) &&
      (!kind.value || has(item, "kinds", kind.value)) &&
      (!entry.value || has(item, "entries", entry.value)) &&
      (!wrong.checked || (entry.value ? has(item, "wrong", entry.value) : item.dataset.wrong !== "")) &&
      (!text.value || item.textContent.toLowerCase().includes(text.value.toLowerCase()));
    const turn = () => {
      const from = page * PAGE, shown = new Set(matching.slice(from, from + PAGE));
      for (const item of items) item.hidden = !shown.has(item);
      byId("f-count").textContent = matching.length
        ? "Items " + (from + 1) + " to " + (from + shown.size) + " of " + matching.length
        : "No items match these filters.";
      byId("previous").disabled = page === 0;
      byId("next").disabled = from + PAGE >= matching.length;
    };
    const filter = () => {
      matching = items.filter(fits);
      page = 0;
      for (const reply of all(".reply", list)) reply.hidden = entry.value !== "" && reply.dataset.entry !== entry.value;
      turn();
    };
    for (const control of [column, kind, entry, wrong]) control.addEventListener("change", filter);
    let waiting = 0;
    text.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 150); });
    byId("previous").addEventListener("click", () => { page -= 1; turn(); });
    byId("next").addEventListener("click", () => { page += 1; turn(); });
    for (const link of all(".to-items")) {
      link.addEventListener("click", () => { column.value = link.dataset.column; filter(); });
    }
    turn();
  }

  // a table that is wider than its place says that it scrolls
  function swiping() {
    const show = (entries) => {
      for (const { target } of entries) {
        target.previousElementSibling.hidden = target.scrollWidth <= target.clientWidth + 1;
      }
    };
    const sizes = new ResizeObserver(show);
    for (const region of all(".scroll")) sizes.observe(region);
  }

  function opening() {
    const open = () => {
      const target = location.hash.length > 1 && byId(location.hash.slice(1));
      if (target && target.tagName === "DETAILS") target.open = true;
    };
    window.addEventListener("hashchange", open);
    for (const link of all('a[href^="#why-"]')) {
      link.addEventListener("click", () => { byId(link.getAttribute("href").slice(1)).open = true; });
    }
    open();
    // open collapsed sections for printing, and close them again afterwards
    let opened = [];
    window.addEventListener("beforeprint", () => {
      opened = all("details.why:not([open]), details.more:not([open]):not(#all-runs)");
      for (const details of opened) details.open = true;
    });
    window.addEventListener("afterprint", () => { for (const details of opened) details.open = false; });
  }

  document.addEventListener("DOMContentLoaded", () => {
    for (const element of all(".needs-script")) element.hidden = false;
    theme();
    sorting();
    choosing();
    pairing();
    filtering();
    swiping();
    opening();
  });
})();
