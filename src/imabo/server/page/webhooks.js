// Webhooks, for admins: who is told of what happens, and what became of each delivery.

import { read, write } from "./api.js";
import { openDialog } from "./dialogs.js";
import { ICONS, h, icon, setChildren, setText } from "./dom.js";
import { moment, plural } from "./format.js";
import { Live } from "./live.js";
import { pill, setPill } from "./states.js";
import { copy, toast } from "./toast.js";

const PAGE = 10; // deliveries that are shown at first, and more with each click
const MOST = 1000;
const KINDS = [
  ["rolled back", "a study is rolled back"], ["resumed", "tuning is resumed"], ["drift", "a change is noticed"],
  ["control", "a control is changed"], ["space", "a space is changed"], ["settings", "settings are changed"],
  ["state", "a configuration is paused or retired"], ["arm", "a configuration is added"], ["arms", "several configurations are added"],
  ["created", "a study is created"], ["imported", "a study is imported"], ["deleted", "a study is deleted"],
  ["key made", "a key is made"], ["key revoked", "a key is revoked"],
  ["webhook added", "a webhook is added"], ["webhook changed", "a webhook is changed"], ["webhook removed", "a webhook is removed"],
];

export function webhooksView() {
  const cards = new Map();
  const kept = h("div", { hidden: true });
  const list = h("div", { class: "stack" });
  const none = h("section", { class: "card empty", hidden: true }, h("h2", {}, "Nobody is told yet"),
    h("p", {}, "A webhook is an address of yours: what happens to studies is sent there as signed JSON, and again until it is answered."));
  const add = h("button", { type: "button", class: "main", on: { click: () => edit(null) } }, icon(ICONS.plus), "Add a webhook");
  const element = h("div", { class: "stack webhooks", "aria-busy": "true" },
    h("div", { class: "head" }, h("div", { class: "head-text" }, h("h1", {}, "Webhooks"),
      h("p", { class: "soft" }, "What happens is sent to these addresses, and tried again for about a day. Nothing waits for it, and a restart loses none.")),
      h("div", { class: "row" }, add)), kept, none, list);
  const live = new Live(look);

  async function look() {
    const { webhooks } = await read("v1/webhooks");
    const ids = new Set(webhooks.map((one) => one.id));
    for (const id of [...cards.keys()]) if (!ids.has(id)) cards.delete(id);
    for (const one of webhooks) {
      if (!cards.has(one.id)) cards.set(one.id, new Card(one.id, { edit, live }));
      cards.get(one.id).show(one);
    }
    setChildren(list, webhooks.map((one) => cards.get(one.id).element));
    none.hidden = webhooks.length > 0;
    await Promise.all([...cards.values()].map((card) => card.refresh()));
    element.removeAttribute("aria-busy");
  }

  /** Add one, or change it; a secret that the server makes is shown once. */
  function edit(known) {
    const form = new Form(known);
    openDialog({
      title: known === null ? "Add a webhook" : "Change the webhook", action: known === null ? "Add" : "Save", isWide: true,
      lead: "Each event is a POST with JSON, signed with the secret (HMAC-SHA256 of the time and the body).",
      body: form.body,
      run: async () => {
        if (known === null) {
          const made = await write("POST", "v1/webhooks", form.read());
          if (made.secret !== null) keep(made);
          toast("The webhook is added");
        } else {
          await write("PATCH", `v1/webhooks/${known.id}`, form.read());
          toast("The webhook is changed");
        }
        await live.now();
      },
    });
  }

  function keep({ url, secret }) {
    const done = h("button", { type: "button", on: { click: () => { kept.hidden = true; kept.replaceChildren(); add.focus(); } } }, "I have it");
    kept.hidden = false;
    kept.replaceChildren(h("section", { class: "note banner", "aria-label": "The secret", data: { tone: "warn" } },
      h("div", { class: "grow" }, h("strong", {}, "Keep the secret now: it is not shown again"),
        h("p", { class: "wrap" }, `What is sent to ${url} is signed with`), h("code", { class: "wrap" }, secret)),
      h("div", { class: "row" }, h("button", { type: "button", class: "main", on: { click: () => copy(secret, "Secret") } }, icon(ICONS.copy), "Copy"), done)));
  }

  return { element, start: () => live.start(), stop: () => live.stop() };
}

/** The fields of a webhook; `known` is the one to change. */
class Form {
  constructor(known) {
    this.known = known;
    this.url = h("input", { id: "webhook-url", type: "url", autocomplete: "off", spellcheck: "false", placeholder: "https://ops.example/imabo", value: known?.url ?? "" });
    this.secret = h("input", { id: "webhook-secret", type: "password", autocomplete: "new-password", spellcheck: "false", "aria-describedby": "webhook-secret-hint" });
    this.studies = h("textarea", { id: "webhook-studies", rows: "2", spellcheck: "false", value: (known?.studies ?? []).join("\n"), "aria-describedby": "webhook-studies-hint" });
    const strange = (known?.kinds ?? []).filter((kind) => KINDS.every(([name]) => name !== kind)).map((kind) => [kind, kind]);
    this.kinds = [...KINDS, ...strange].map(([kind, words]) => {
      const box = h("input", { type: "checkbox", checked: known?.kinds?.includes(kind) ?? false, value: kind });
      return { kind, box, element: h("label", { class: "check" }, box, words) };
    });
    this.body = [
      field("webhook-url", "Address", this.url),
      h("fieldset", { class: "checks" }, h("legend", {}, "Tell when (none checked: whatever happens)"), this.kinds.map((one) => one.element)),
      field("webhook-studies", "Of these studies", this.studies, "One name a line; empty for all of them, also those to come."),
      field("webhook-secret", "Secret", this.secret, known === null ? "At least 16 characters; leave it empty and one is made." : "Leave it empty to keep the one there is."),
    ];
  }

  read() {
    const kinds = this.kinds.filter((one) => one.box.checked).map((one) => one.kind);
    const studies = this.studies.value.split("\n").map((name) => name.trim()).filter(Boolean);
    const found = { url: this.url.value.trim(), kinds: kinds.length ? kinds : null, studies: studies.length ? studies : null };
    return this.secret.value === "" ? found : { ...found, secret: this.secret.value };
  }
}

function field(id, words, input, hint = "") {
  return h("div", { class: "field" }, h("label", { for: id }, words), input,
    hint ? h("p", { class: "soft small", id: `${id}-hint` }, hint) : null);
}

/** One webhook with its deliveries. */
class Card {
  constructor(id, { edit, live }) {
    this.id = id;
    this.live = live;
    this.limit = PAGE;
    this.webhook = null;
    this.rows = new Map();
    this.url = h("h2", { class: "wrap" });
    this.words = h("p", { class: "soft small wrap" });
    this.body = h("tbody", {});
    this.empty = h("p", { class: "table-empty" }, "Nothing was sent yet.");
    const heads = ["When", "What happened", "State", "Answer", "Again"];
    this.table = h("div", { class: "scroll", tabindex: "0", role: "region" },
      h("table", { class: "space-table" }, h("thead", {}, h("tr", {}, heads.map((word) => h("th", { scope: "col" }, word)))), this.body));
    this.more = h("button", { type: "button", class: "small", on: { click: () => { this.limit = Math.min(this.limit + PAGE, MOST); this.live.now(); } } }, "Show older ones");
    this.foot = h("div", { class: "table-foot" }, this.more);
    this.element = h("section", { class: "card table-card", data: { webhook: id } },
      h("div", { class: "lift-head" },
        h("div", { class: "spread" }, this.url, h("div", { class: "row" },
          h("button", { type: "button", on: { click: () => this.test() } }, "Send a test"),
          h("button", { type: "button", on: { click: () => edit(this.webhook) } }, "Change"),
          h("button", { type: "button", class: "danger", on: { click: () => this.remove() } }, "Remove"))),
        this.words),
      this.table, this.empty, this.foot);
  }

  show(webhook) {
    this.webhook = webhook;
    setText(this.url, webhook.url);
    this.element.setAttribute("aria-label", `Webhook to ${webhook.url}`);
    this.table.setAttribute("aria-label", `Deliveries to ${webhook.url}`);
    const kinds = webhook.kinds === null ? "Whatever happens" : `When: ${webhook.kinds.join(", ")}`;
    const studies = webhook.studies === null ? "of all studies" : `of ${webhook.studies.join(", ")}`;
    setText(this.words, `${kinds}, ${studies}. Added on ${moment(webhook.created_at)}.`);
  }

  async refresh() {
    const { deliveries, next } = await read(`v1/webhooks/${this.id}/deliveries?limit=${this.limit}`);
    const known = new Map(deliveries.map((one) => {
      const row = this.rows.get(one.id) ?? new Row(one, () => this.again(one));
      row.show(one);
      return [one.id, row];
    }));
    this.rows = known;
    setChildren(this.body, [...known.values()].map((row) => row.element));
    this.table.hidden = deliveries.length === 0;
    this.empty.hidden = deliveries.length > 0;
    this.foot.hidden = next === null || this.limit >= MOST;
  }

  async do(path, words) {
    try {
      await write("POST", `v1/webhooks/${this.id}${path}`);
      toast(words);
    } catch (error) {
      toast(error.message);
    }
    await this.live.now();
  }

  test() {
    return this.do("/test", "A test is on its way");
  }

  again({ id }) {
    return this.do(`/deliveries/${id}/again`, "It is sent again");
  }

  remove() {
    openDialog({
      title: "Remove the webhook?", action: "Remove", isDanger: true,
      lead: `Nothing more is sent to ${this.webhook.url}, also what waits for it. Its deliveries are forgotten.`,
      run: async () => {
        await write("DELETE", `v1/webhooks/${this.id}`);
        toast("The webhook is removed");
        await this.live.now();
      },
    });
  }
}

class Row {
  constructor({ id, event }, again) {
    const about = event.study === null ? "" : ` (${event.study})`;
    this.state = pill();
    this.tries = h("span", { class: "small soft" });
    this.answer = h("td", { class: "wrap" });
    this.element = h("tr", { data: { delivery: id } },
      h("td", { class: "fixed" }, h("time", { datetime: event.at }, moment(event.at))),
      h("td", { class: "wrap" }, `${event.text}${about}`),
      h("td", { class: "fixed" }, this.state, " ", this.tries), this.answer,
      h("td", {}, h("button", { type: "button", class: "small", "aria-label": `Send again: ${event.text}`, on: { click: again } }, "Send again")));
  }

  show(one) {
    setPill(this.state, one.state === "pending" ? "waiting" : one.state);
    setText(this.tries, one.tries === 1 && one.state === "delivered" ? "" : plural(one.tries, "try").replace("trys", "tries"));
    const next = one.next_at === null ? "" : `; next try: ${moment(one.next_at)}`;
    setText(this.answer, `${one.problem ?? (one.status === null ? "–" : `answered ${one.status}`)}${next}`);
  }
}
