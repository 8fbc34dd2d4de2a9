# tests/devtools.py - pages in headless Chromium, by the protocol of its developer tools: opened at a width, asked, looked at by axe.
#
#   python3 tests/devtools.py CHROMIUM FOLDER URL...   checks pages at two widths, and leaves a picture of each in the folder
import base64
import json
import os
import pathlib
import re
import select
import subprocess
import sys
import tempfile
import time

WIDTHS = (390, 1280)  # a phone, a desk
ROOT = pathlib.Path(__file__).resolve().parent.parent
# `tools/install-dependencies --npm` puts it there.
AXE = pathlib.Path(os.environ.get("UNWEAVE_AXE", ROOT / "build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"))


class Tab:
    """A browser with one page, which knows no address but those of this machine."""

    def __init__(self, chromium, *options):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()

        def take_pipes():  # the protocol's descriptors are 3 and 4
            spare = [os.dup(to_read), os.dup(to_write)]
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)

        self.log = open(pathlib.Path(self.profile.name) / "log", "w+")
        self.process = subprocess.Popen([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                                         f"--user-data-dir={self.profile.name}/user", "--remote-debugging-pipe",
                                         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", *options, "about:blank"],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=take_pipes, close_fds=False)
        os.close(to_read)
        os.close(to_write)
        self.number, self.buffer, self.events, self.session, self.console = 0, b"", [], None, []
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(one["targetId"] for one in targets if one["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.ask(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.write)
        os.close(self.read)
        self.log.close()
        self.profile.cleanup()

    def message(self, end):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read], [], [], max(0, end - time.monotonic()))
            piece = os.read(self.read, 1 << 20) if ready else b""
            if not piece:
                self.log.seek(0)
                raise AssertionError("the browser does not answer: " + self.log.read()[-2000:])
            self.buffer += piece
        text, _, self.buffer = self.buffer.partition(b"\0")
        found = json.loads(text)
        entry = found.get("params", {}).get("entry", {})
        # That a page is answered 401 is an entry of the network's.
        if found.get("method") == "Runtime.exceptionThrown" or (entry.get("level") == "error" and entry.get("source") != "network"):
            self.console.append(json.dumps(found["params"]))
        return found

    def ask(self, method, seconds=60, **words):
        self.number += 1
        call = {"id": self.number, "method": method, "params": words}
        if self.session:
            call["sessionId"] = self.session
        os.write(self.write, json.dumps(call).encode() + b"\0")
        end = time.monotonic() + seconds
        while True:
            found = self.message(end)
            if found.get("id") == self.number:
                if "error" in found:
                    raise AssertionError(f"{method}: {found['error']}")
                return found["result"]
            self.events.append(found)

    def wait(self, method, seconds=60):
        end = time.monotonic() + seconds
        while True:
            for at, event in enumerate(self.events):
                if event.get("method") == method:
                    return self.events.pop(at)["params"]
            self.events.append(self.message(end))

    def load(self, begin):
        """Does what loads another page, and waits for it."""
        self.events = [event for event in self.events if event.get("method") != "Page.loadEventFired"]
        begin()
        self.wait("Page.loadEventFired")

    def open(self, url):
        self.load(lambda: self.ask("Page.navigate", url=url))

    def js(self, expression):
        found = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise AssertionError(f"{expression[:100]}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def fill(self, field, text):
        """Writes into a field of a form, and sends the form."""
        self.load(lambda: self.js(f"{{ const field = document.getElementById({json.dumps(field)}); field.value = {json.dumps(text)};"
                                  " field.form.requestSubmit(); }"))

    def press(self, label):
        self.load(lambda: self.js(f"[...document.querySelectorAll('button')].find(one => one.textContent === {json.dumps(label)}).click()"))

    def text(self):
        return self.js("document.body.innerText")

    def size(self, width, height=900):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, path):
        height = self.js("document.documentElement.scrollHeight")
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                        clip={"x": 0, "y": 0, "width": self.js("innerWidth"), "height": min(height, 12000), "scale": 1})
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def faults(self):
        """What axe finds; none where it is not installed."""
        if not AXE.is_file():
            print(f"skipped: no axe-core: {AXE}", flush=True)
            return []
        self.js(AXE.read_text() + "; 0")
        found = self.js("axe.run(document).then(result => result.violations.map(one => "
                        "one.id + ': ' + one.nodes.map(node => node.html.slice(0, 200) + ' ' + node.failureSummary).join(' | ')))")
        return found

    def check(self, name, folder=None):
        """The page as it is, at both widths: nothing sticks out to the side, charts are as wide, and axe finds nothing, in light and dark."""
        for scheme in ("light", "dark"):
            self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            for width in WIDTHS:
                self.size(width)
                wide = self.js("document.documentElement.scrollWidth")
                if wide > width:
                    raise AssertionError(f"{name}: at {width} pixels the page is {wide} wide")
                narrow = self.js("[...document.querySelectorAll('svg.chart')].filter(one => one.getBoundingClientRect().width < "
                                 "0.95 * document.querySelector('h2').getBoundingClientRect().width).length")
                if narrow:
                    raise AssertionError(f"{name}: at {width} pixels {narrow} charts are narrower than the page")
                if found := self.faults():
                    raise AssertionError(f"{name}, {scheme}, {width} pixels: {found}")
                if folder and scheme == "light":
                    self.picture(pathlib.Path(folder) / f"{name}-{width}.png")
        self.ask("Emulation.setEmulatedMedia", features=[])


def main():
    chromium, folder, *urls = sys.argv[1:]
    with Tab(chromium) as tab:
        for url in urls:
            tab.open(url)
            tab.check(re.sub(r"\W+", "-", url.rsplit("/", 1)[-1]), folder)
            if tab.console:
                raise AssertionError(tab.console)


if __name__ == "__main__":
    main()
