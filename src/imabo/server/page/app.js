// Where it begins: who is looking, which view the address names, and moving between views.

import { Away, Problem, key, onLocked, setKey } from "./api.js";
import { ICONS, byId, h, icon } from "./dom.js";
import { wordsOf } from "./dialogs.js";
import { showState } from "./live.js";
import { mayAdminAll, recall, session } from "./session.js";
import { startTheme } from "./theme.js";
import { toast } from "./toast.js";
import { gateView } from "./gate.js";
import { studiesView } from "./studies.js";
import { studyView } from "./study.js";
import { webhooksView } from "./webhooks.js";

const RETRY_MS = 2000;
const main = byId("main");
const keyButton = byId("key");
let view = null;
let shown = null;

/** The view and its settings in the address: `#/studies/NAME?sort=n_pulls`. */
function place() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const [first, name, ...more] = path.split("/");
  const params = new URLSearchParams(query);
  if (path === "") return { kind: "studies", params };
  if (path === "webhooks" && mayAdminAll()) return { kind: "webhooks", params };
  try {
    if (first === "studies" && name && !more.length) return { kind: "study", name: decodeURIComponent(name), params };
  } catch {
    // not an address that we made
  }
  return { kind: "lost", params };
}

function show(next, title, trail) {
  view?.stop?.();
  view = next;
  main.replaceChildren(next.element);
  document.title = title ? `${title} · imabo` : "imabo";
  byId("trail").replaceChildren(trailOf(trail));
  view.start?.();
}

function trailOf(name) {
  const items = name === null ? [] : [
    h("li", {}, h("a", { href: "#/" }, "Studies")),
    h("li", { "aria-current": "page" }, name),
  ];
  return items.length ? h("ol", {}, items) : "";
}

function go(isFirst = false) {
  if (session.me === null) return;
  const to = place();
  if (!isFirst && view && shown && shown.kind === to.kind && shown.name === to.name && to.kind !== "lost") return;
  shown = to;
  if (to.kind === "studies") show(studiesView(), "", null);
  else if (to.kind === "webhooks") show(webhooksView(), "Webhooks", "Webhooks");
  else if (to.kind === "study") show(studyView(to.name, to.params), to.name, to.name);
  else show(message("There is no such page", "The address names nothing that this server shows."), "Not found", null);
  if (!isFirst) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
}

function message(title, words, ...more) {
  return { element: h("section", { class: "empty card" }, h("h1", {}, title), h("p", {}, words), ...more,
    h("a", { class: "button", href: "#/" }, "All studies")) };
}

function lock(words) {
  session.me = null;
  keyButton.hidden = byId("webhooks").hidden = true;
  showState("");
  show(gateView(words, async (text) => {
    setKey(text);
    await recall();
    begin();
  }), "Key", null);
}

function begin() {
  const { role, open } = session.me;
  keyButton.hidden = open;
  byId("webhooks").hidden = !mayAdminAll();
  keyButton.replaceChildren(icon(ICONS.key), h("span", {}, role));
  keyButton.setAttribute("aria-label", `Your key is a ${role}'s. Forget it`);
  keyButton.title = `Your key is a ${role}'s. Forget it in this window`;
  go(true);
}

async function start() {
  try {
    await recall();
    begin();
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return;
    if (!(error instanceof Away)) show(message("Something is wrong", wordsOf(error)), "Error", null);
    else {
      showState("away");
      setTimeout(start, RETRY_MS);
    }
  }
}

onLocked(() => {
  const had = key() !== null;
  const isAsked = document.querySelector(".gate") !== null;
  if (had) setKey(null);
  if (!isAsked) lock(had ? "The key that you used does not count any more." : "");
});
keyButton.addEventListener("click", () => {
  setKey(null);
  lock("");
  toast("The key is forgotten");
});
addEventListener("hashchange", () => go());
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
startTheme(byId("theme"));
main.replaceChildren(h("div", { class: "empty", "aria-busy": "true" }, h("p", {}, "Loading…")));
start();
