// Changing the space: a form with JSON beside it, what differs, and what the change would retire.

import { studyPath, write } from "./api.js";
import { openDialog } from "./dialogs.js";
import { h, setChildren, setText } from "./dom.js";
import { percent, plural } from "./format.js";
import { json } from "./settings.js";
import { parsed } from "./configure.js";
import { differences } from "./differences.js";
import { SpaceForm } from "./space_form.js";
import { toast } from "./toast.js";

export function changeSpace(study, space, changed) {
  const area = h("textarea", { class: "code-area", id: "space-json", spellcheck: "false", "aria-describedby": "space-state", value: json(space) });
  const form = new SpaceForm(space, () => { area.value = json(form.read()); check(); });
  const state = h("p", { class: "small soft", id: "space-state", role: "status" });
  const look = h("button", { type: "button", class: "preview-button", on: { click: preview } }, "Preview what it retires");
  const changes = h("ul", { class: "differences", "aria-label": "What differs" });
  const result = h("div", { class: "preview", "aria-live": "polite" });
  const { submit, fail } = openDialog({
    title: "Change the space", action: "Change the space", isWide: true,
    lead: "Everything that was learned stays. Configurations that do not fit the new space are retired; the search starts to grow again.",
    body: [h("div", { class: "beside" }, form.element,
      h("div", { class: "field" }, h("label", { for: "space-json" }, "The space as JSON"), area)),
    changes, h("div", { class: "row" }, look, state), result],
    run: async () => {
      const made = await write("PATCH", studyPath(study), { space: parsed(area) });
      toast(`The space is now version ${made.space_version}`);
      await changed();
    },
  });
  let previewed = null;
  area.addEventListener("input", () => {
    try {
      form.write(parsed(area));
    } catch {
      // the form stays as it was; the line below says what is wrong
    }
    check();
  });
  check();

  /** What is written must be JSON to be looked at, and must have been looked at to be done. */
  function check() {
    let problem = "";
    let wanted = space;
    try {
      wanted = parsed(area);
    } catch (error) {
      problem = error.message;
    }
    const isSame = !problem && json(wanted) === json(space);
    setChildren(changes, ...(problem || isSame ? [] : differences(space, wanted)));
    look.disabled = problem !== "" || isSame;
    submit.disabled = previewed === null || previewed !== area.value;
    setText(state, problem || (isSame ? "This is the space as it is now." : submit.disabled ? "Look at the preview, then change it." : ""));
    result.hidden = submit.disabled;
    fail(null);
  }

  async function preview() {
    const text = area.value;
    fail(null);
    look.disabled = true;
    try {
      const found = await write("POST", studyPath(study, "/space/preview"), { space: parsed(area) });
      if (text !== area.value) return;
      previewed = text;
      result.replaceChildren(...show(found));
      check();
      result.scrollIntoView({ block: "nearest" });
    } catch (error) {
      fail(error);
    } finally {
      look.disabled = false;
    }
  }
}

/** What a preview says: the configurations that go and come. */
function show(found) {
  const blocks = [];
  if (found.n_retired) {
    const best = found.retires_best ? ", the best one among them" : "";
    blocks.push(note("warn", `${plural(found.n_retired, "configuration")} will be retired, with ${percent(found.share_retired)} of the requests so far${best}:`),
      list(found.retired, found.n_retired));
  } else blocks.push(note("good", "No configuration will be retired."));
  if (found.n_restored) blocks.push(note("good", `${plural(found.n_restored, "configuration")} will come back:`), list(found.restored, found.n_restored));
  return blocks;
}

function note(tone, words) {
  return h("p", { class: "note", data: { tone } }, words);
}

function list(arms, n) {
  const items = arms.map((arm) => h("li", {}, h("b", {}, `#${arm.id}`), h("span", { class: "wrap" }, arm.label)));
  if (n > arms.length) items.push(h("li", {}, h("span", {}, `and ${n - arms.length} more`)));
  return h("ul", { tabindex: "0", "aria-label": "Configurations" }, items);
}
