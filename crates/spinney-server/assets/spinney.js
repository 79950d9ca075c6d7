// What a page does by itself: it shows anew what changed, and follows a job's log. Everything that comes from elsewhere
// becomes text, never markup; the pieces of our own pages that are taken over were escaped by the server.
"use strict";

(() => {
  const SETTLE_MS = 300;
  const MAX_ROWS = 4000;

  // The parts of this page that are marked are taken over from a fresh copy of it.
  let refreshing = false;
  let again = false;

  async function refresh() {
    if (refreshing) {
      again = true;
      return;
    }
    refreshing = true;
    try {
      const address = location.pathname + location.search;
      const answer = await fetch(address, { headers: { accept: "text/html" }, redirect: "error" });
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const cell of fresh.querySelectorAll("[data-lazy]")) fillLazy(cell);
      for (const part of document.querySelectorAll("[data-live]")) {
        const other = fresh.querySelector(`[data-live="${CSS.escape(part.dataset.live)}"]`);
        if (other && other.innerHTML !== part.innerHTML) takeOver(part, other);
      }
    } catch {
      // The stream tells when the server is there again.
    } finally {
      refreshing = false;
      if (again) {
        again = false;
        setTimeout(refresh, SETTLE_MS);
      }
    }
  }

  function takeOver(part, other) {
    // Nobody loses what they are typing.
    const active = document.activeElement;
    if (part.contains(active) && active.matches("input, textarea, select")) return;
    const place = part.contains(active) ? path(part, active) : null;
    const unfolded = new Map([...part.querySelectorAll("details")].map((details) => [key(details), details.open]));
    const scrolled = [...part.querySelectorAll(".scroll")].map((element) => element.scrollLeft);
    part.replaceChildren(...[...other.childNodes].map((node) => document.importNode(node, true)));
    for (const details of part.querySelectorAll("details")) details.open = unfolded.get(key(details)) ?? details.open;
    part.querySelectorAll(".scroll").forEach((element, index) => (element.scrollLeft = scrolled[index] ?? 0));
    part.querySelectorAll("[data-lazy]").forEach((cell) => seen.observe(cell));
    if (place) place.reduce((element, index) => element?.children[index], part)?.focus({ preventScroll: true });
  }

  function key(details) {
    return details.querySelector("summary")?.textContent.trim() ?? "";
  }

  function path(from, element) {
    const steps = [];
    for (let at = element; at !== from; at = at.parentElement) {
      steps.unshift([...at.parentElement.children].indexOf(at));
    }
    return steps;
  }

  // Cells whose content takes git a while are asked for when they are seen, one after another.
  const LAZY_FOR_MS = 30_000;
  const known = new Map();
  const wanted = new Set();
  let asking = false;

  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      wanted.add(target.dataset.lazy);
    }
    askNext();
  });

  async function askNext() {
    if (asking) return;
    asking = true;
    for (const address of wanted) {
      wanted.delete(address);
      if (Date.now() - (known.get(address)?.at ?? 0) < LAZY_FOR_MS) continue;
      try {
        const answer = await fetch(address, { headers: { accept: "text/html" }, redirect: "error" });
        if (!answer.ok) continue;
        const content = new DOMParser().parseFromString(await answer.text(), "text/html").body;
        known.set(address, { at: Date.now(), content });
        document.querySelectorAll(`[data-lazy="${CSS.escape(address)}"]`).forEach(fillLazy);
      } catch {
        // The link in the cell leads to the same answer.
      }
    }
    asking = false;
  }

  function fillLazy(cell) {
    const content = known.get(cell.dataset.lazy)?.content;
    if (content) cell.replaceChildren(...[...content.childNodes].map((node) => document.importNode(node, true)));
  }

  document.querySelectorAll("[data-lazy]").forEach((cell) => seen.observe(cell));

  // How long something runs goes on between two copies of the page; what it does is asked for now and then.
  const MOVES_MS = 5000;
  const begun = new WeakMap();

  setInterval(() => {
    if (document.hidden) return;
    for (const element of document.querySelectorAll("[data-runs]")) {
      if (!begun.has(element)) begun.set(element, performance.now() - Number(element.dataset.runs));
      element.textContent = lasted(Math.floor((performance.now() - begun.get(element)) / 1000));
    }
  }, 1000);
  setInterval(() => {
    if (!document.hidden && document.querySelector("[data-moves]")) soon();
  }, MOVES_MS);

  function lasted(seconds) {
    const two = (number) => String(number).padStart(2, "0");
    const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
    return hours ? `${hours}h${two(minutes)}m` : `${minutes}m${two(seconds % 60)}s`;
  }

  // What is wider than the window begins where one wants to look.
  const here = document.querySelector(".top nav [aria-current]");
  function showHere() {
    if (here) here.closest("nav").scrollLeft = here.offsetLeft - (innerWidth - here.offsetWidth) / 2;
  }
  showHere();
  window.addEventListener("resize", showHere);
  document.querySelectorAll("[data-newest]").forEach((element) => (element.scrollLeft = element.scrollWidth));

  // A link to a form unfolds it, and one can type.
  function unfold() {
    const form = document.querySelector("details.form:target");
    if (!form) return;
    form.open = true;
    form.querySelector("input:not([type=hidden]), select, textarea")?.focus();
  }
  unfold();
  window.addEventListener("hashchange", unfold);

  for (const back of document.querySelectorAll("[data-back]")) {
    back.hidden = history.length < 2;
    back.addEventListener("click", () => history.back());
  }

  // Something happened: what else happens within a moment is shown with it.
  let timer = 0;
  function soon() {
    if (timer) return;
    timer = setTimeout(() => {
      timer = 0;
      refresh();
    }, SETTLE_MS);
  }

  // A browser has six connections to a server at most. Of all its pages that are shown, one reads the stream, and tells the others
  // what it hears; when it is hidden or left, another one goes on. Over plain HTTP from another machine there are no locks: each
  // page reads by itself.
  const STREAM = "spinney-events";
  const others = new BroadcastChannel(STREAM);
  let reading = null;

  others.addEventListener("message", ({ data }) => reading && hear(data));

  async function listen() {
    if (reading || !document.querySelector("[data-live]")) return;
    const own = (reading = new AbortController());
    if (!navigator.locks) return read(own);
    try {
      await navigator.locks.request(STREAM, { signal: own.signal }, () => read(own));
    } catch {
      // The page was hidden before its turn.
    }
  }

  // Every event counts, whatever its name; so the stream is read here, where an EventSource would have to know all names.
  async function read(own) {
    for (let wait = 1000; reading === own; wait = Math.min(2 * wait, 30_000)) {
      try {
        const answer = await fetch("/api/v1/events", { headers: { accept: "text/event-stream" }, signal: own.signal });
        if (answer.status === 401 || answer.status === 403) return;
        if (!answer.ok) throw new Error(answer.statusText);
        // What happened while nobody listened, as between the page and this, is on the fresh page.
        tell([]);
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        for (let rest = ""; ; ) {
          const { done, value } = await reader.read();
          if (done) break;
          wait = 1000;
          const lines = (rest + value).split("\n");
          rest = lines.pop();
          const told = lines.filter((line) => line.startsWith("data:"));
          if (told.length) tell(told);
        }
      } catch {
        // It is tried again.
      }
      if (reading === own) await pause(wait, own.signal);
    }
  }

  function pause(milliseconds, signal) {
    return new Promise((resolve) => {
      setTimeout(resolve, milliseconds);
      signal.addEventListener("abort", resolve, { once: true });
    });
  }

  function tell(events) {
    others.postMessage(events);
    hear(events);
  }

  // The page of one thing is not shown anew for every other.
  function hear(events) {
    const about = document.body.dataset.about;
    if (!events.length || events.some((event) => event.includes(about))) soon();
  }

  function rest() {
    reading?.abort();
    reading = null;
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return rest();
    soon();
    listen();
  });
  window.addEventListener("pagehide", rest);
  // A page that somebody goes back to was kept as it was.
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted || document.hidden) return;
    soon();
    listen();
  });
  if (!document.hidden) listen();

  // A job's log.
  const log = document.querySelector("[data-log]");
  if (log) follow(log);

  function follow(log) {
    const latest = document.querySelector("[data-latest]");
    const tools = new Map();
    let sticks = true;
    let shown = Date.now();
    const atEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 24;
    const toEnd = () => (log.scrollTop = log.scrollHeight);
    log.addEventListener("scroll", () => {
      sticks = atEnd();
      if (latest) latest.hidden = sticks;
    });
    latest?.addEventListener("click", () => {
      sticks = true;
      toEnd();
      log.focus({ preventScroll: true });
    });
    toEnd();
    if (log.dataset.over === "true") return;

    // A browser has six connections to a server at most, so that hidden pages keep none: they go on where they stopped.
    let source = null;
    let last = log.dataset.end;
    let isOver = false;
    function connect() {
      if (source || isOver || document.hidden) return;
      source = new EventSource(`${log.dataset.log}?after=${encodeURIComponent(last)}`);
      source.addEventListener("entry", take);
      source.addEventListener("end", () => {
        isOver = true;
        disconnect();
        soon();
      });
    }
    function disconnect() {
      source?.close();
      source = null;
    }
    function take(event) {
      last = event.lastEventId || last;
      const entry = JSON.parse(event.data);
      append(entry);
      // The timeline and the sessions tell of it, too.
      const isDue = Date.now() - shown > MOVES_MS;
      if (entry.type === "phase" || entry.type === "hand_off" || (entry.type === "usage" && isDue)) {
        shown = Date.now();
        soon();
      }
      if (log.childElementCount > MAX_ROWS) log.firstElementChild.remove();
      if (sticks) toEnd();
    }
    document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
    window.addEventListener("pagehide", disconnect);
    window.addEventListener("pageshow", connect);
    connect();

    function append(entry) {
      const row = rows[entry.type]?.(entry, tools);
      if (row) log.append(row);
    }
  }

  // What steers a terminal, and what turns text around.
  const STEERS = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[[(][0-?]*[ -/]*[@-~]|\u001b.|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
  const plain = (text) => String(text ?? "").replace(STEERS, "");
  const firstLine = (text) => plain(text).split("\n").map((line) => line.trim()).find(Boolean) ?? "";

  function element(name, kind, text) {
    const made = document.createElement(name);
    made.className = kind;
    if (text !== undefined) made.textContent = plain(text);
    return made;
  }

  // A sentence of ours, in which backticks stand around names.
  function sentence(kind, text) {
    const made = element("p", kind);
    const parts = plain(text).split("`");
    const odd = parts.length % 2 === 0 ? "`" + parts.pop() : "";
    made.append(...parts.map((part, index) => (index % 2 ? element("code", "", part) : part)), odd);
    return made;
  }

  const PHASES = {
    waiting: "waits for", set_up: "set up", before_run: "before_run", session: "session", deliver: "deliver",
    after_run: "after_run", on_error: "on_error", tear_down: "tear down",
  };

  const rows = {
    phase: ({ phase, detail }, tools) => {
      const goesOn = tools.phase === phase;
      tools.phase = phase;
      if (goesOn && detail) return sentence("left", detail);
      return sentence("phase", detail ? `${PHASES[phase] ?? phase}: ${detail}` : PHASES[phase] ?? phase);
    },
    warning: ({ text }) => sentence("note", text),
    session_started: ({ model, resumed }) => {
      const words = [resumed ? "goes on with the session before" : "", model ?? ""].filter(Boolean).join(", ");
      return words ? sentence("left", words) : null;
    },
    text: ({ text }) => (text.trim() ? element("p", "said", text.trim()) : null),
    tool_use: ({ id, tool, detail }, tools) => {
      const row = element("p", "tool bare");
      fillTool(row, tool, detail);
      if (id) tools.set(id, { row, tool, detail });
      return row;
    },
    tool_result: ({ id, is_error: isError, text }, tools) => {
      const known = tools.get(id);
      tools.delete(id);
      if (!known) return isError ? element("p", "error", text) : null;
      if (!text.trim() && !isError) return null;
      const details = element("details", isError ? "tool wrong" : "tool");
      const summary = document.createElement("summary");
      fillTool(summary, known.tool, known.detail);
      details.append(summary, element("pre", "", text));
      known.row.replaceWith(details);
      return null;
    },
    retry: ({ reason }) => sentence("note", `tries again: ${firstLine(reason)}`),
    permission_denied: ({ tool, detail }) => sentence("note", `was not allowed: ${tool} ${firstLine(detail)}`),
    output: ({ stream, text, cut_bytes: cut }) =>
      element("p", stream === "stderr" ? "printed err" : "printed", cut ? `${text}… (${cut} bytes more)` : text),
    hand_off: ({ note }) => {
      const details = element("details", "tool");
      details.append(element("summary", "", "its context is full; its note for the next session"), element("pre", "", note));
      return details;
    },
    session_finished: ({ error }) => (error ? element("p", "error", error) : null),
    finished: ({ status, error }) => {
      const word = status.replaceAll("_", " ");
      return sentence(status === "completed" ? "end" : "end bad", error && error !== word ? `${word}: ${error}` : word);
    },
  };

  function fillTool(into, tool, detail) {
    into.append(element("b", "", tool), ` ${firstLine(detail)}`);
  }
})();
