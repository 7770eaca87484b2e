"""Figures as PNG files, drawn by an installed Chromium or Chrome without a window."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from imabo.errors import MissingExtra
from imabo_bench.report.assets import DRESS
from imabo_bench.report.page import figures_json, plotly_script
from imabo_bench.report.sections import Drawing

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
AT_ONCE: Final = 12  # figures a page: enough to share the start, little enough for memory
WIDTH: Final = 900
LIGHT: Final = {
    "ink": "#1c2126",
    "soft": "#59636e",
    "paper": "#ffffff",
    "panel": "#f6f7f9",
    "line": "#dbe0e6",
    "grid": "#e6e9ed",
}
EXPORT: Final = """
const figures = JSON.parse(document.getElementById("figures").textContent);
(async () => {
  for (const [name, spec] of Object.entries(figures)) {
    const layout = dress(spec, WIDTH, COLOURS);
    const image = document.createElement("img");
    image.id = name;
    image.src = await Plotly.toImage({ data: spec.data, layout },
      { format: "png", width: WIDTH, height: layout.height, scale: 2 });
    document.body.append(image);
  }
})();
"""


def find_browser() -> str | None:
    """Path of Chromium or Chrome: what BROWSER_PATH names, else what is on the PATH."""
    named = os.environ.get("BROWSER_PATH")
    found = (shutil.which(name) for name in ([named] if named else NAMES))
    return next((path for path in found if path is not None), None)


def dump_page(page: Path, *, wait_s: float = 30.0, flags: Sequence[str] = ()) -> str:
    """Open a local page in a headless browser and return its document once it is at rest.

    Args:
        page: The HTML file.
        wait_s: Virtual seconds that the page's timers may take.
        flags: More flags for the browser.

    Raises:
        MissingExtra: If there is no browser, or it does not start.
    """
    browser = find_browser()
    if browser is None:
        raise MissingExtra(
            "no Chromium or Chrome was found",
            "PNG files are drawn by a browser without a window",
            "install one (apt-get install chromium) or let BROWSER_PATH name it; the HTML page "
            "needs none of this",
        )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            browser,
            "--headless",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            f"--user-data-dir={profile}",
            f"--virtual-time-budget={round(1000 * wait_s)}",
            # The sandbox refuses to run as root, as in a container; the page is our own.
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            *flags,
            "--dump-dom",
            page.resolve().as_uri(),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode or "</html>" not in done.stdout:
        words = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        raise MissingExtra(
            f"{browser} gave no page (exit status {done.returncode}: {words[0]})",
            "PNG files are drawn by a browser without a window",
            "try it by hand with --headless --dump-dom, or let BROWSER_PATH name another",
        )
    return done.stdout


def write_pngs(drawings: Sequence[Drawing], folder: Path) -> list[Path]:
    """Write each figure to ``folder`` as ``<name>.png``, 1800 pixels wide, on white."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for start in range(0, len(drawings), AT_ONCE):
        some = drawings[start : start + AT_ONCE]
        images = _images(some)
        for drawing in some:
            path = folder / f"{drawing.name}.png"
            path.write_bytes(images[drawing.name])
            written.append(path)
    return written


def _images(drawings: Sequence[Drawing]) -> dict[str, bytes]:
    settings = f"const WIDTH = {WIDTH}, COLOURS = {json.dumps(LIGHT)};"
    content = (
        '<!doctype html><html><head><meta charset="utf-8"></head><body>'
        f'<script type="application/json" id="figures">{figures_json(drawings)}</script>'
        f"<script>{plotly_script()}</script><script>{settings}{DRESS}{EXPORT}</script></body></html>"
    )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "figures.html"
        page.write_text(content, encoding="utf-8")
        document = dump_page(page)
    found = re.findall(r'<img id="([^"]+)" src="data:image/png;base64,([^"]+)"', document)
    images = {name: base64.b64decode(data) for name, data in found}
    missing = [drawing.name for drawing in drawings if drawing.name not in images]
    if missing:
        raise MissingExtra(
            f"the browser did not draw {', '.join(missing)}",
            "it may be too old for Plotly or short of memory",
            "use a current Chromium or Chrome; BROWSER_PATH names the one to use",
        )
    return images
