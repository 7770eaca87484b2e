import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What becomes of a request: it is passed on, or something goes wrong. */
export type Fault =
  | "pass"
  | "hang" // no answer at all
  | "lose" // the service does what was asked, and the answer is lost
  | "cut" // the answer breaks off in the middle
  | "shift" // the answer to another request of the same client
  | "garbage"
  | { status: number; retryAfter?: string }
  | { rewrite: (text: string) => string };

/** Stands between a client and a real service, and fails as it is told; notes what came by. */
export class Proxy {
  readonly seen: { method: string; path: string; body: string }[] = [];
  /** Asked for each request. */
  fault: (method: string, path: string) => Fault = () => "pass";
  url = "";
  readonly #server: Server;

  private constructor(target: string) {
    this.#server = createServer((request, response) => {
      this.#handle(target, request, response).catch(() => response.destroy());
    });
  }

  static async start(target: string): Promise<Proxy> {
    const proxy = new Proxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    proxy.url = `http://127.0.0.1:${(proxy.#server.address() as AddressInfo).port}`;
    return proxy;
  }

  async end(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #handle(target: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { method = "GET", url: path = "/" } = request;
    const body = Buffer.concat(pieces).toString();
    this.seen.push({ method, path, body });
    const fault = this.fault(method, path);
    if (fault === "hang") return;
    if (fault === "garbage") {
      response.writeHead(200, { "Content-Type": "text/html" }).end("<html>Welcome!</html>");
      return;
    }
    if (typeof fault === "object" && "status" in fault) {
      const headers = fault.retryAfter === undefined ? {} : { "Retry-After": fault.retryAfter };
      response.writeHead(fault.status, headers).end("busy");
      return;
    }
    const headers: Record<string, string> = {};
    for (const name of ["content-type", "authorization", "x-request-id"]) {
      const value = request.headers[name];
      if (typeof value === "string") headers[name] = value;
    }
    const answer = await fetch(target + path, { method, headers, ...(body !== "" && { body }) });
    let text = await answer.text();
    if (fault === "lose") {
      response.destroy();
      return;
    }
    if (typeof fault === "object") text = fault.rewrite(text);
    let id = answer.headers.get("x-request-id") ?? "";
    if (fault === "shift") id = id.replace(/-\d+$/, "-0");
    const length = fault === "cut" ? { "Content-Length": String(text.length + 10) } : {};
    const type = answer.headers.get("content-type") ?? "";
    response.writeHead(answer.status, { "Content-Type": type, "X-Request-ID": id, ...length });
    if (fault === "cut") response.write(text, () => response.destroy());
    else response.end(answer.status === 204 ? undefined : text);
  }
}
