// Who is looking: the role decides what is offered (the server decides what is allowed).

import { read } from "./api.js";

/** @type {{ me: any }} */
export const session = { me: null };

export async function recall() {
  session.me = await read("v1/me");
  return session.me;
}

/** Whether all studies are theirs, and the service itself. */
export function mayAdminAll() {
  return mayAdmin() && session.me.studies === null;
}

export function mayAdmin() {
  return session.me !== null && session.me.role === "admin";
}
