"""The compiled client in a real browser, on a page that has the origin of the service."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Route

from tests.page.browsing import running_browser
from tests.server.running import RunningServer

# Served as it is compiled: a browser has no file system and no packages.
PROGRAM = """async ([url, name]) => {
  const { Client, choice } = await import("/trial/index.js");
  window.client = new Client(url, { retries: 0, timeoutS: 30, log: () => undefined });
  window.study = await client.create(name, { model: choice(["small", "large"]) });
  const pull = await study.ask({ key: "request-1", context: { page: location.pathname } });
  await study.tell(pull.id, 1);
  window.later = (await study.ask()).id;
  return pull.config.model;
}"""
AWAY = """async () => {
  await study.tell(later, 0.5);
  const pull = await study.ask({ default: { model: "small" }, deadlineS: 5 });
  return [client.nWaiting, pull.reason];
}"""
BACK = """async () => {
  const isSent = await client.flush(60);
  return [isSent, client.nWaiting, (await study.facts()).n_rewards];
}"""


def test_a_browser_asks_and_tells_and_keeps_what_it_cannot_send(built: Path) -> None:
    def serve(route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        if name == "page":
            route.fulfill(content_type="text/html", body="<!doctype html><title>trial</title>")
        else:
            route.fulfill(content_type="text/javascript", body=(built / name).read_text("utf-8"))

    with RunningServer() as server, running_browser() as browser:
        page = browser.new_page()
        page.route("**/trial/*", serve)
        page.goto(f"{server.url}/trial/page")
        assert page.evaluate(PROGRAM, [server.url, "in-a-browser"]) in ("small", "large")
        page.context.set_offline(True)
        assert page.evaluate(AWAY) == [1, "default"]
        page.context.set_offline(False)
        assert page.evaluate(BACK) == [True, 0, 2]
