// Looking again and again: about every two seconds, rarely while nobody looks, ever more rarely
// while the server is away.

import { Away } from "./api.js";
import { wordsOf } from "./dialogs.js";
import { byId, h, setAttr, setChildren, setText } from "./dom.js";
import { clock } from "./format.js";

const EVERY_MS = 2000;
const HIDDEN_MS = 20000;
const LONGEST_MS = 10000;

let seenAt = null;

export class Live {
  /**
   * @param {() => Promise<void>} look Reads and shows.
   * @param {(error: unknown) => boolean} isEnd Shows what went wrong, when there is no use to go on.
   */
  constructor(look, isEnd = () => false) {
    this.look = look;
    this.isEnd = isEnd;
    this.isOn = false;
    this.timer = 0;
    this.failures = 0;
    this.running = null;
    this.woken = () => { if (!document.hidden) this.now(); };
  }

  start() {
    this.isOn = true;
    document.addEventListener("visibilitychange", this.woken);
    addEventListener("online", this.woken);
    return this.now();
  }

  stop() {
    this.isOn = false;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.woken);
    removeEventListener("online", this.woken);
  }

  /** Look at once, but never twice at the same time. */
  now() {
    clearTimeout(this.timer);
    this.running ??= this.once().finally(() => { this.running = null; });
    return this.running;
  }

  async once() {
    if (!this.isOn) return;
    try {
      await this.look();
      this.failures = 0;
      seenAt = new Date();
      showState("live");
    } catch (error) {
      this.failures += 1;
      if (this.isOn && (error.status === 401 || this.isEnd(error))) this.stop();
      if (this.isOn) showState("away", error instanceof Away ? "The server does not answer." : wordsOf(error));
    }
    if (!this.isOn) return;
    const calm = document.hidden ? HIDDEN_MS : EVERY_MS;
    const patience = this.failures > 0 ? Math.min(LONGEST_MS, 1000 * 1.6 ** this.failures) : 0;
    const wait = Math.max(calm, patience);
    this.timer = setTimeout(() => this.now(), wait);
  }
}

/** The dot in the bar and the banner: "live", "away" with words, or "" for neither. */
export function showState(state, what = "The server does not answer.") {
  const pulse = byId("pulse");
  const banner = byId("away");
  setAttr(pulse, "data-state", state);
  pulse.hidden = state === "";
  const words = { live: "Live", away: "No answer", "": "" }[state];
  if (pulse.textContent !== words) setChildren(pulse, h("span", { class: "pulse-text" }, words));
  if (state === "away") {
    const since = seenAt ? ` You see what was known at ${clock(seenAt)}.` : "";
    setText(banner, `${what}${since} Trying again…`);
  }
  banner.hidden = state !== "away";
}
