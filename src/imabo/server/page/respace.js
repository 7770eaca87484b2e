// Changing the space: JSON, and a preview of what would happen before anything does.

import { studyPath, write } from "./api.js";
import { openDialog } from "./dialogs.js";
import { h, setText } from "./dom.js";
import { percent, plural } from "./format.js";
import { json, settings } from "./settings.js";
import { parsed } from "./configure.js";
import { toast } from "./toast.js";

export function changeSpace(study, space, changed) {
  const area = h("textarea", { class: "code-area", id: "space-json", spellcheck: "false", "aria-describedby": "space-state", value: json(space) });
  const state = h("p", { class: "small soft", id: "space-state", role: "status" });
  const look = h("button", { type: "button", class: "preview-button", on: { click: preview } }, "Preview");
  const result = h("div", { class: "preview", "aria-live": "polite" });
  const { submit, fail } = openDialog({
    title: "Change the space", action: "Change the space", isWide: true,
    lead: "Everything that was learned stays. Arms that do not fit the new space are retired; the search starts to grow again.",
    body: [h("div", { class: "field" }, h("label", { for: "space-json" }, "The space as JSON"), area, state),
      h("div", {}, look), result],
    run: async () => {
      const made = await write("PATCH", studyPath(study), { space: parsed(area) });
      toast(`The space is now version ${made.space_version}`);
      await changed();
    },
  });
  let previewed = null;
  area.addEventListener("input", check);
  check();

  /** What is written must be JSON to be looked at, and must have been looked at to be done. */
  function check() {
    let problem = "";
    try {
      parsed(area);
    } catch (error) {
      problem = error.message;
    }
    const isSame = !problem && json(parsed(area)) === json(space);
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

/** What a preview says: the parameters, then the arms that go and come. */
function show(found) {
  const words = [["New", found.added], ["Gone", found.removed], ["Other values", found.changed]]
    .filter(([, names]) => names.length).map(([word, names]) => `${word}: ${names.join(", ")}.`);
  const blocks = words.length ? [h("p", { class: "small wrap" }, words.join(" "))] : [];
  if (found.n_retired) {
    const best = found.retires_best ? ", the best one among them" : "";
    blocks.push(note("warn", `${plural(found.n_retired, "arm")} will be retired, with ${percent(found.share_retired)} of the requests so far${best}:`),
      list(found.retired, found.n_retired));
  } else blocks.push(note("good", "No arm will be retired."));
  if (found.n_restored) blocks.push(note("good", `${plural(found.n_restored, "arm")} will come back:`), list(found.restored, found.n_restored));
  return blocks;
}

function note(tone, words) {
  return h("p", { class: "note", data: { tone } }, words);
}

function list(arms, n) {
  const items = arms.map((arm) => h("li", {}, h("b", {}, `#${arm.id}`), settings(arm.config)));
  if (n > arms.length) items.push(h("li", {}, h("span", {}, `and ${n - arms.length} more`)));
  return h("ul", { tabindex: "0", "aria-label": "Arms" }, items);
}
