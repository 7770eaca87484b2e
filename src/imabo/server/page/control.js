// The control: who gets it, rolling back to it, going on, and setting another one.

import { read, studyPath, write } from "./api.js";
import { ConfigForm } from "./configure.js";
import { openDialog, wordsOf } from "./dialogs.js";
import { ICONS, h, icon, setAttr, setText } from "./dom.js";
import { measure, moment, percent } from "./format.js";
import { mayAdmin } from "./session.js";
import { settings } from "./settings.js";
import { toast } from "./toast.js";

const TYPING_MS = 250;

/** The banner of a study that is rolled back, the button that does it, and the panel of its settings. */
export class Control {
  /**
   * @param {() => {space: any, best: any}} known What a form begins with.
   * @param {() => Promise<void>} changed Shows what was changed.
   */
  constructor(study, known, changed) {
    this.study = study;
    this.known = known;
    this.changed = changed;
    this.rollout = null;
    this.shown = null;
    this.words = h("p", { class: "wrap" });
    this.served = h("div", {});
    this.resumeButton = h("button", { type: "button", class: "main", on: { click: () => this.resume() } }, "Resume tuning");
    this.banner = h("section", { class: "note banner", role: "status", "aria-label": "Rolled back", data: { tone: "bad" }, hidden: true },
      h("div", { class: "grow" }, h("strong", {}, "Rolled back: every request gets the control"), this.words, this.served),
      mayAdmin() ? this.resumeButton : null);
    this.button = h("button", { type: "button", class: "danger", disabled: true, on: { click: () => this.rollBack() } }, icon(ICONS.back), "Roll back");
    this.list = h("div", { class: "control-facts" });
    this.setButton = h("button", { type: "button", disabled: true, on: { click: () => this.set() } }, "Set a control");
    this.endButton = h("button", { type: "button", class: "danger", on: { click: () => this.end() } }, "End the control");
    this.element = h("section", { class: "card control", "aria-label": "Control and guardrail" },
      h("div", { class: "spread" }, h("h3", {}, "Control and guardrail"),
        mayAdmin() ? h("div", { class: "row" }, this.setButton, this.endButton) : null), this.list);
  }

  async refresh() {
    const found = await read(studyPath(this.study, "/control"));
    const text = JSON.stringify(found);
    if (text === this.shown) return;
    const isBack = found.state === "rolled back";
    const last = isBack ? await read(studyPath(this.study, "/events?kind=rolled%20back&limit=1")) : { events: [] };
    const plan = found.control === null ? null : await read(planPath(this.study, found.control.share, found.exposure));
    this.rollout = found;
    this.shown = text;
    this.show(found, last.events[0], plan);
  }

  show(found, event, plan) {
    const { control, guardrail } = found;
    const isBack = found.state === "rolled back";
    this.button.disabled = this.setButton.disabled = false; // what they are about is known now
    this.banner.hidden = !isBack;
    this.button.hidden = isBack;
    if (isBack) {
      const by = event?.data?.by === "guardrail" ? "By the guardrail" : "By hand";
      const why = found.reason ? `: ${found.reason}` : ", without a reason given";
      setText(this.words, `${by}, on ${moment(found.changed_at)}${why}. What was learned stays, and rewards still count.`);
      this.served.replaceChildren(whatOf(control));
    }
    setText(this.setButton, control ? "Change" : "Set a control");
    this.endButton.hidden = control === null;
    this.list.replaceChildren(...(control === null
      ? [h("p", { class: "soft" }, "There is no control. With one, a small share of the requests gets what you serve today, and the page says how much better the rest is.")]
      : [facts([
        ["It serves", whatOf(control)],
        ["Who gets what", plan.text],
        ["Share", `${percent(control.share)} of the requests that may be tuned; exposure ${percent(found.exposure)}`],
        ["Guardrail", guardrail ? `Rolls back by itself when ${guardrail.signal ? `tuned's ${guardrail.signal} is surely ${guardrail.worse}` : "tuned is surely worse"} by more than ${measure(guardrail.margin)}` : "None: nothing is rolled back by itself"],
        ["Compared since", found.since ? moment(found.since) : "–"],
      ])]));
  }

  rollBack() {
    const { control } = this.rollout;
    const { space, best } = this.known();
    const form = control === null ? new ConfigForm(space, best) : null;
    const reason = h("input", { id: "roll-back-reason", maxlength: "500", autocomplete: "off", placeholder: "Complaints since noon" });
    openDialog({
      title: "Roll back?", action: "Roll back", isDanger: true, isWide: form !== null,
      lead: "From the next request on everyone gets the control, on all servers, until someone resumes. What was learned stays.",
      body: [
        form === null
          ? h("div", { class: "note" }, whatOf(control))
          : h("div", { class: "stack" }, h("p", {}, "The study has no control yet. Choose what to serve: what you served before, say."), form.element),
        h("div", { class: "field" }, h("label", { for: "roll-back-reason" }, "Why, for those who read it later"), reason),
      ],
      run: async () => {
        const body = { reason: reason.value.trim() || null };
        await write("POST", studyPath(this.study, "/roll-back"), form === null ? body : { ...body, config: form.read() });
        toast("Rolled back: everyone gets the control");
        await this.now();
      },
    });
    if (form === null) reason.focus();
  }

  resume() {
    openDialog({
      title: "Resume tuning?", action: "Resume",
      lead: "The study goes on with what it learned, and with the control, if any, that it had before it was rolled back. The guardrail judges what comes from now on.",
      run: async () => {
        await write("POST", studyPath(this.study, "/resume"));
        toast("Tuning is resumed");
        await this.now();
      },
    });
  }

  end() {
    openDialog({
      title: "End the control?", action: "End it", isDanger: true,
      lead: "Every request is tuned from then on. There is no lift any more, and no guardrail; what was learned stays.",
      run: async () => {
        await write("PUT", studyPath(this.study, "/control"), { control: null });
        toast("The control is ended");
        await this.now();
      },
    });
  }

  set() {
    const { study } = this;
    const { control, exposure, guardrail } = this.rollout;
    const { space, best } = this.known();
    const form = new ConfigForm(space, control?.config ?? best);
    let isRandom = control !== null && control.config === null;
    const kinds = [[false, "A configuration"], [true, "Random serving"]].map(([value, words]) =>
      h("button", { type: "button", "aria-pressed": String(isRandom === value), on: { click: () => turn(value) } }, words));
    const hint = h("p", { class: "soft small" });
    const share = percentField("control-share", "Control’s share, in %", control?.share ?? 0.05);
    const exposed = percentField("control-exposure", "Exposure: how much may be tuned, in %", exposure);
    const margin = field("control-margin", `Guardrail: roll back when ${guardrail?.signal ? `${guardrail.signal} is ${guardrail.worse}` : "worse"} by more than (empty: never)`, guardrail ? String(guardrail.margin) : "");
    const effect = h("p", { class: "note", role: "status" }, "…");
    let timer = 0;
    openDialog({
      title: control === null ? "Set a control" : "Change the control", action: "Save", isWide: true,
      lead: "A share of the requests gets the control whatever was learned, so that the lift over it is known.",
      body: [
        h("div", { class: "choices", role: "group", "aria-label": "What the control serves" }, kinds), hint, form.element,
        h("div", { class: "config-form" }, share.element, exposed.element, margin.element), effect,
      ],
      run: async () => {
        const wanted = { config: isRandom ? null : form.read(), share: numberIn(share, 100) };
        const limit = margin.input.value.trim() === "" ? null : { ...(guardrail ?? {}), margin: numberIn(margin) };
        await write("PUT", studyPath(this.study, "/control"), { control: wanted, exposure: numberIn(exposed, 100), guardrail: limit });
        toast("The control is saved");
        await this.now();
      },
    });
    for (const one of [share, exposed]) one.input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(say, TYPING_MS);
    });
    turn(isRandom);
    say();

    function turn(value) {
      isRandom = value;
      kinds.forEach((button, i) => setAttr(button, "aria-pressed", String((i === 1) === value)));
      form.element.hidden = value;
      setText(hint, value ? "Each of its requests gets a new configuration, drawn at random." : "What you serve today. Another configuration begins another comparison, with a lift of its own.");
    }

    async function say() {
      try {
        setText(effect, (await read(planPath(study, numberIn(share, 100), numberIn(exposed, 100)))).text);
      } catch (error) {
        setText(effect, wordsOf(error));
      }
    }
  }

  now() {
    this.shown = null;
    return this.changed();
  }
}

function planPath(study, share, exposure) {
  return studyPath(study, `/plan?share=${share}&exposure=${exposure}`);
}

/** What a control serves, in words or as settings. */
function whatOf(control) {
  return control.config === null ? h("span", {}, "Random serving: a new draw for each of its requests") : settings(control.config);
}

function facts(rows) {
  return h("dl", { class: "pairs wide" }, rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function field(id, words, value) {
  const input = h("input", { id, inputmode: "decimal", autocomplete: "off", value });
  return { input, words, element: h("div", { class: "field" }, h("label", { for: id }, words), input) };
}

function percentField(id, words, share) {
  return field(id, words, String(Number((100 * share).toPrecision(6))));
}

function numberIn({ input, words }, divisor = 1) {
  const text = input.value.trim().replace(",", ".");
  const value = Number(text) / divisor;
  setAttr(input, "aria-invalid", null);
  if (text !== "" && Number.isFinite(value)) return value;
  setAttr(input, "aria-invalid", "true");
  throw new Error(`${words}: write a number`);
}
