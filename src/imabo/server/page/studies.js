// Every study at a glance.

import { Away, Problem, read, studyPath } from "./api.js";
import { h, setAttr, setChildren, setText } from "./dom.js";
import { spark } from "./draw.js";
import { ago, compact, measure, plural } from "./format.js";
import { Live } from "./live.js";
import { pill, setPill } from "./states.js";
import { welcome } from "./welcome.js";

const AT_ONCE = 4; // overviews that are read at the same time
const SEARCH_FROM = 7; // studies for which a search field is worth its place

export function studiesView() {
  const cards = new Map();
  const count = h("p", { class: "soft" });
  const search = h("input", {
    type: "search", id: "search", class: "search", placeholder: "Find a study", "aria-label": "Find a study",
    on: { input: () => arrange() },
  });
  const tools = h("div", { class: "row", hidden: true }, search);
  const grid = h("ul", { class: "cards" }, [1, 2, 3].map(() => h("li", { class: "card bone study-card", "aria-hidden": "true" }, h("div", { class: "figures" }))));
  const none = h("p", { class: "soft", hidden: true }, "No study has such a name.");
  const list = h("div", { class: "stack" },
    h("div", { class: "head" }, h("div", { class: "head-text" }, h("h1", {}, "Studies"), count), tools), grid, none);
  const element = h("div", { "aria-busy": "true" }, list);
  const live = new Live(look);
  let first = null;

  async function look() {
    const { studies } = await read("v1/studies");
    setAttr(element, "aria-busy", null);
    if (!studies.length) {
      first ??= welcome();
      setChildren(element, first);
      cards.clear();
      return;
    }
    setChildren(element, list);
    const names = new Set(studies.map((study) => study.name));
    for (const name of [...cards.keys()]) if (!names.has(name)) cards.delete(name);
    for (const study of studies) {
      if (!cards.has(study.name)) cards.set(study.name, new Card(study.name));
      cards.get(study.name).showStudy(study);
    }
    setText(count, plural(studies.length, "study").replace("studys", "studies"));
    tools.hidden = studies.length < SEARCH_FROM;
    arrange();
    await inTurn([...cards.values()].filter((card) => card.isStale && card.element.isConnected));
  }

  function arrange() {
    const words = search.value.trim().toLowerCase();
    const shown = [...cards.values()].filter((card) => card.name.toLowerCase().includes(words))
      .sort((a, b) => (b.lastAt ?? 0) - (a.lastAt ?? 0) || a.name.localeCompare(b.name));
    setChildren(grid, shown.map((card) => card.element));
    none.hidden = shown.length > 0;
  }

  return { element, start: () => live.start(), stop: () => live.stop() };
}

async function inTurn(cards) {
  const waiting = [...cards];
  const work = async () => {
    for (let card = waiting.shift(); card; card = waiting.shift()) await card.refresh();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

class Card {
  constructor(name) {
    this.name = name;
    this.mark = "";
    this.shownMark = null;
    this.lastAt = null;
    this.state = pill();
    this.big = h("div", { class: "big" }, "–");
    this.against = h("div", { class: "small soft" }, " ");
    this.drawing = h("div", {}, spark([]));
    this.foot = h("div", { class: "foot" });
    this.element = h("li", {}, h("a", { class: "card study-card", href: `#/studies/${encodeURIComponent(name)}` },
      h("div", { class: "top" }, h("span", { class: "name" }, name), this.state),
      h("div", { class: "figures" }, h("div", {}, h("div", { class: "small soft" }, "Reward now"), this.big, this.against), this.drawing),
      this.foot));
  }

  get isStale() {
    return this.mark !== this.shownMark;
  }

  showStudy(study) {
    this.mark = [study.created_at, study.n_pulls, study.n_rewards, study.n_arms, study.n_expired, study.space_version, study.state].join();
    this.study = study;
    this.showFoot();
  }

  showFoot() {
    const parts = [[compact(this.study.n_pulls), "requests"], [compact(this.study.n_arms), "configurations"]];
    const last = this.study.n_pulls === 0 ? "waiting for requests" : this.lastAt === null ? "" : ago(this.lastAt);
    const text = JSON.stringify([parts, last]);
    if (text === this.footText) return;
    this.footText = text;
    this.foot.replaceChildren(...parts.map(([n, word]) => h("span", {}, h("b", {}, n), ` ${word}`)), h("span", { class: "last" }, last));
  }

  async refresh() {
    const mark = this.mark;
    let found;
    try {
      found = await read(studyPath(this.name, "/overview?trend=40"));
    } catch (error) {
      if (error instanceof Away) throw error;
      if (error instanceof Problem && error.status === 401) throw error;
      setPill(this.state, error.status === 404 ? "gone" : "unknown");
      this.shownMark = mark;
      return;
    }
    this.shownMark = mark;
    this.lastAt = found.last_pull_at;
    setPill(this.state, found.state);
    setText(this.big, measure(found.recent_mean));
    const [gain, other] = gainOf(found);
    setText(this.against, gain === null ? (found.n_rewards ? " " : "no reward yet") : `${gain >= 0 ? "+" : "−"}${measure(Math.abs(gain))} ${other}`);
    setAttr(this.against, "class", `small ${gain === null ? "soft" : gain >= 0 ? "better" : "worse"}`);
    this.drawing.replaceChildren(spark(found.trend || [], found.random_mean));
    this.showFoot();
  }
}

/** What it is better by, and than what: the control where there is one, else serving at random. */
function gainOf({ lift, recent_mean: now, random_mean: random }) {
  if (lift !== null) return [lift.estimate, "over control"];
  return [now !== null && random !== null ? now - random : null, "against random"];
}
