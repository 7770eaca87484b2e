// A server without a study: what this is, and how the first one is made.

import { h } from "./dom.js";
import { mayAdmin, session } from "./session.js";
import { copy } from "./toast.js";

export function code(title, text) {
  return h("div", { class: "code" },
    h("div", { class: "title" }, h("span", {}, title),
      h("button", { type: "button", class: "quiet small", "aria-label": `Copy the code: ${title}`, on: { click: () => copy(text, "Code") } }, "Copy")),
    h("pre", { tabindex: "0", "aria-label": title }, h("code", {}, text)));
}

export function welcome() {
  const [address, locked] = [addressOf(), !session.me.open];
  const intro = h("div", { class: "intro" },
    h("h1", {}, "Welcome. There is no study here yet."),
    h("p", {}, "A study tunes one thing while it serves real requests: which model, which prompt, which temperature. "
      + "Your application asks which configuration to use for the next request, and reports how well it went, now or later. "
      + "The server learns from that and serves what works more and more often."),
    h("p", { class: "soft" }, "This page shows the first study as soon as it is there."));
  if (session.me.studies !== null || !mayAdmin()) {
    intro.append(h("p", { class: "note", data: { tone: "warn" } },
      session.me.studies !== null
        ? "Your key sees only the studies that it names, and none of them is there yet."
        : "Your key may look but not create studies; that takes an admin's key."));
  }
  return h("section", { class: "welcome" }, intro, h("ol", { class: "steps" },
    h("li", {}, h("h2", {}, "From Python"),
      code("Shell", 'pip install "imabo[client]"'), code("Python", python(address, locked))),
    h("li", {}, h("h2", {}, "Or from any language, over HTTP"), code("curl", curl(address, locked))),
    h("li", {}, h("h2", {}, "Then come back here"),
      h("p", {}, "You will see the reward over time, which settings matter, and which configuration is best. "
        + "You can pause configurations, add your own, and change the space while it runs."))));
}

/** A study that was never asked: how an application does that. */
export function waiting(name) {
  const [address, locked] = [addressOf(), !session.me.open];
  const path = `${address}/v1/studies/${encodeURIComponent(name)}/pulls`;
  const text = `from imabo import Client

with Client(${accessOf(address, locked)}) as client:
    study = client.open(${JSON.stringify(name)})
    pull = study.ask()
    # ... serve the request with pull.config, then say how it went:
    study.tell(pull.id, 0.8)
`;
  return h("section", { class: "card first", "aria-label": "The first request" },
    h("h2", {}, "Waiting for the first request"),
    h("p", { class: "soft" }, "Let your application ask which configuration to serve. What it learns appears here by itself."),
    code("Python", text), code("curl", `curl -X POST ${path}${headerOf(locked)}\n`));
}

function addressOf() {
  return new URL(".", document.baseURI).href.replace(/\/$/, "");
}

function accessOf(address, locked) {
  return locked ? `"${address}", key="imabo_…"` : `"${address}"`;
}

function headerOf(locked) {
  return locked ? ' \\\n  -H "authorization: Bearer $IMABO_KEY"' : "";
}

function python(address, locked) {
  return `from imabo import Choice, Client, Float, Space

space = Space(
    model=Choice("small", "large"),
    temperature=Float(0.0, 1.0),
)

with Client(${accessOf(address, locked)}) as client:
    study = client.create("support-answers", space)
    pull = study.ask(default={"model": "small", "temperature": 0.2})
    # ... answer the request with pull.config, then say how it went:
    study.tell(pull.id, 0.8)
`;
}

function curl(address, locked) {
  const auth = headerOf(locked);
  return `curl -X POST ${address}/v1/studies${auth} \\
  -H 'content-type: application/json' -d '{
    "name": "support-answers",
    "space": {"parameters": [
      {"name": "model", "type": "choice", "values": ["small", "large"]},
      {"name": "temperature", "type": "float", "low": 0.0, "high": 1.0}]}}'

# which configuration for the next request?
curl -X POST ${address}/v1/studies/support-answers/pulls${auth}

# how did it go? (put the id of that answer in place of PULL)
curl -X PUT ${address}/v1/pulls/PULL/reward${auth} \\
  -H 'content-type: application/json' -d '{"reward": 0.8}'
`;
}
