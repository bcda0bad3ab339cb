// The page's own part: the token, which screen is shown, what is under way. All words and numbers come from the server.
"use strict";
(() => {
  const app = document.getElementById("app"), live = document.getElementById("live");
  const TEXT = "input:not([type=radio]):not([type=checkbox]):not([type=file]), textarea";
  let token = sessionStorage.getItem("token"), timer = 0, spoken = 0, loading = 0;
  let since = "", sending = Promise.resolve(), pending = 0;

  // The token comes in the fragment, which is never sent, and is taken out of the address at once.
  const take = () => {
    if (location.hash.length > 32) {
      token = location.hash.slice(1);
      sessionStorage.setItem("token", token);
      history.replaceState(null, "", location.pathname + location.search);
    }
  };
  const word = () => location.pathname.slice(1) || "open";
  const frame = () => document.getElementById("frame");
  const show = id => app.replaceChildren(document.getElementById(id).content.cloneNode(true));

  const ask = (path, init = {}) =>
    fetch(path, { ...init, headers: { Authorization: `Bearer ${token}`, ...init.headers }, redirect: "error" });

  // Everything that htmx sends goes out as JSON, with the token, and with the policy that was looked at.
  document.addEventListener("htmx:config:request", event => {
    const ctx = event.detail.ctx, request = ctx.request;
    if (request.method !== "POST") { event.preventDefault(); return; }
    const about = request.action.startsWith("/all/")
      ? { ...Object.fromEntries(new URLSearchParams(location.search)), screen: frame()?.dataset.screen } : {};
    const form = { ...Object.fromEntries(request.body), ...about };
    const path = request.action + (request.action.startsWith("/do/") ? location.search : "");
    pending++;
    ctx.fetch = () => sending = sending.catch(() => {}).then(async () => {  // one after the other
      clearTimeout(timer);
      const number = ++loading;
      const response = await ask(path, {
        method: "POST", body: JSON.stringify({ ...form, since }), signal: request.signal,
        headers: { "Content-Type": "application/json", Accept: "text/html" },
      });
      if (response.status === 401) { show("closed"); throw new DOMException("no token", "AbortError"); }
      const go = response.headers.get("X-Shoal-Go");
      if (go && number === loading) history.pushState(null, "", go);
      ctx.moved = Boolean(go);
      since = response.headers.get("X-Shoal-Since") ?? since;
      return response;
    });
  });
  document.addEventListener("htmx:finally:request", () => { pending = Math.max(0, pending - 1); });
  document.addEventListener("htmx:error", event => {
    if (event.detail.error?.name === "TypeError" && event.detail.ctx) show("gone");
  });
  document.addEventListener("htmx:after:swap", event => settled(event.detail?.ctx?.moved));

  // A screen is an address: reload, back, forward and a second tab show it.
  const load = async moved => {
    if (!token) { show("closed"); return; }
    const number = ++loading;
    clearTimeout(timer);
    let response;
    try { response = await ask(`/s/${word()}${location.search}`, { headers: { Accept: "text/html" } }); }
    catch { if (number === loading) show("gone"); return; }
    if (response.status === 401) { show("closed"); return; }
    const text = await response.text();
    if (number !== loading) return;
    since = response.headers.get("X-Shoal-Since") ?? since;
    await htmx.swap({ text, target: app, sourceElement: app, swap: "innerMorph", request: {}, moved });
  };
  const go = address => { history.pushState(null, "", address); load(true); };

  // After each change: what is under way is asked for again, and a control shows what holds, not what was tried.
  const settled = moved => {
    const working = app.querySelector(".working"), poll = app.querySelector("[data-poll]");
    const share = working?.dataset.share ? `${working.dataset.share} % – ` : "";
    document.title = `${share}${frame()?.dataset.title ?? "Shoal"} – Shoal`;
    for (const form of pending > 1 ? [] : app.querySelectorAll("form[data-live]"))  // unless more is on its way
      if (!form.contains(document.activeElement) || !document.activeElement.matches(TEXT)) form.reset();
    if (moved) { window.scrollTo(0, 0); app.querySelector("h1")?.focus({ preventScroll: true }); }
    else app.querySelector("main [role=alert]")?.scrollIntoView({ block: "nearest" });
    if (working && Date.now() - spoken > 5000) { live.textContent = working.dataset.say; spoken = Date.now(); }
    clearTimeout(timer);
    if (poll) timer = setTimeout(() => { if (document.hidden) again(); else load(); }, Number(poll.dataset.poll));
  };
  const again = () => document.addEventListener("visibilitychange", () => load(), { once: true });

  document.addEventListener("click", async event => {
    const link = event.target.closest("a[href^='/']"), copy = event.target.closest("[data-copy]");
    const ticket = event.target.closest("[data-ticket]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
      event.preventDefault();
      go(link.getAttribute("href"));
    } else if (copy) {
      await navigator.clipboard.writeText(copy.parentElement.querySelector("pre").textContent);
      copy.textContent = "Copied";
      live.textContent = "Copied";
    } else if (ticket) {
      const tab = ticket.dataset.ticket.endsWith(".html") ? window.open("about:blank") : null;
      const response = await ask("/all/ticket", {
        method: "POST", body: JSON.stringify({ file: ticket.dataset.ticket }),
        headers: { "Content-Type": "application/json", Accept: "application/json" },
      });
      if (!response.ok) { tab?.close(); live.textContent = await response.text(); return; }
      const path = `/ticket/${(await response.json()).ticket}`;
      if (tab) tab.location = new URL(path, location.href).href; else location.assign(path);
    }
  });

  // Roles by the keys 1 to 6, anywhere in a row.
  document.addEventListener("keydown", event => {
    const row = event.target.closest?.(".choice");
    if (row && /^[1-6]$/.test(event.key)) row.querySelectorAll("input")[event.key - 1]?.click();
  });
  document.addEventListener("input", event => {
    const wanted = event.target.dataset?.filter;
    if (wanted) for (const each of app.querySelectorAll(wanted))
      each.hidden = !each.dataset.name.includes(event.target.value.toLowerCase());
  });
  document.addEventListener("change", event => {
    const form = event.target.closest("form[data-query]"), file = event.target.closest("[data-upload]")?.files[0];
    if (form) go(`/${word()}?${new URLSearchParams(new FormData(form))}`);
    if (file) upload(file, event.target.closest("[data-drop]"));
  });

  // A file is handed in as it is, however large, with how far it is.
  const upload = (file, place) => {
    const bar = place.querySelector("progress"), words = place.querySelector("[role=status]");
    const request = new XMLHttpRequest();
    const failed = text => { bar.hidden = true; words.hidden = false; words.textContent = text; };
    bar.hidden = false;
    words.hidden = true;
    request.open("PUT", `/upload/${encodeURIComponent(file.name)}`);
    request.setRequestHeader("Authorization", `Bearer ${token}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.upload.onprogress = event => { bar.value = event.loaded / Math.max(event.total, 1); };
    request.onload = () => request.status === 200 ? load() : failed(request.responseText);
    request.onerror = () => failed("The file could not be handed in.");
    request.send(file);
  };
  for (const kind of ["dragover", "drop"]) document.addEventListener(kind, event => {
    const place = event.target.closest?.("[data-drop]");
    event.preventDefault();  // a file that is dropped elsewhere would be opened in place of the app
    if (place && kind === "drop" && event.dataTransfer.files[0]) upload(event.dataTransfer.files[0], place);
  });

  window.addEventListener("popstate", () => load(true));
  window.addEventListener("hashchange", () => { take(); load(true); });
  take();
  load(true);
})();
