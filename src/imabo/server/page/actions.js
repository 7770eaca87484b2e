// What an operator may do to a study, each with a question first.

import { download, studyPath, write } from "./api.js";
import { openDialog } from "./dialogs.js";
import { h } from "./dom.js";
import { settings } from "./settings.js";
import { toast } from "./toast.js";

const WORDS = {
  paused: ["Pause", "It is not served until you resume it. Rewards of earlier requests still count.", "paused"],
  active: ["Resume", "It is served again when the policy thinks it is worth it.", "active again"],
  retired: ["Retire", "It is not served again, unless someone adds the same configuration. What it taught stays.", "retired"],
};

export function changeArm(study, arm, state, changed) {
  const [verb, lead, done] = WORDS[state];
  openDialog({
    title: `${verb} configuration ${arm.id}?`, lead, action: verb, isDanger: state === "retired",
    body: [h("div", { class: "note" }, settings(arm.config))],
    run: async () => {
      await write("PATCH", studyPath(study, `/arms/${arm.id}`), { state });
      toast(`Configuration ${arm.id} is ${done}`);
      await changed();
    },
  });
}

export function deleteStudy(study) {
  const input = h("input", { id: "delete-name", autocomplete: "off", spellcheck: "false" });
  const { submit } = openDialog({
    title: "Delete this study?", action: "Delete for good", isDanger: true,
    lead: "Every configuration, request and reward of it is lost, and applications that ask it get an error. This cannot be undone.",
    body: [h("div", { class: "field" }, h("label", { for: "delete-name", class: "wrap" }, `Type its name to go on: ${study}`), input)],
    run: async () => {
      await write("DELETE", studyPath(study));
      location.hash = "#/";
      toast("The study is deleted");
    },
  });
  submit.disabled = true;
  input.addEventListener("input", () => { submit.disabled = input.value !== study; });
  input.focus();
}

const FILES = { csv: ["/export?format=csv", ".csv"], jsonl: ["/export?format=jsonl", ".jsonl"], report: ["/report", ".html"] };

export async function save(study, kind) {
  const [path, ending] = FILES[kind];
  try {
    toast("Preparing the file…");
    await download(studyPath(study, path), study + ending);
  } catch (error) {
    toast(`The file could not be made: ${error.message}`);
  }
}
