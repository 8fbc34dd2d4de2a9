#!/usr/bin/env python3
# tests/serve_browser_test.py - pages of another site, in headless Chromium, try all that a page can to reach `unweave serve`: forms,
# scripts with and without CORS, beacons, images, and a name of their own that comes to mean this machine. The page of the service itself
# is opened, searched and looked at, too.
#
#   python3 tests/serve_browser_test.py UNWEAVE [CHROMIUM]
#
# The same pages first meet a server that takes everything, which proves that what they try would come through.
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from devtools import Tab
from serve_purge_test import make_named_store, name_of
from serve_test import Program, Service, check, make_store, wait_until

# What a page tries; each promise is settled when the browser is done with it. TARGET is the service as this page calls it.
TRIES = """
const text = async (name, made) => {
  try { const got = await made; return [name, got.type, got.status, await got.text()]; }
  catch (error) { return [name, "failed", 0, String(error)]; }
};
const form = (name, kind) => new Promise(done => {
  const frame = document.createElement("iframe"), form = document.createElement("form"), input = document.createElement("textarea");
  frame.name = name; frame.onload = () => done([name, "sent", 0, ""]);
  form.action = TARGET + "/requests"; form.method = "POST"; form.enctype = kind; form.target = name;
  input.name = "node 5\\n#"; input.value = "\\nnode 6\\n";
  form.append(input); document.body.append(frame, form); form.submit();
  setTimeout(() => done([name, "sent", 0, ""]), 2000);
});
const element = (tag, path) => new Promise(done => {
  const made = document.createElement(tag);
  made.onload = () => done([tag, "loaded", 0, ""]); made.onerror = () => done([tag, "failed", 0, ""]);
  made.src = TARGET + path; document.body.append(made);
});
const post = (mode, kind, body) => fetch(TARGET + "/requests", {method: "POST", mode, headers: kind ? {"Content-Type": kind} : {}, body});
const tries = async () => {
  const json = '{"requests": ["node 5"]}';
  navigator.sendBeacon(TARGET + "/requests", "node 5");
  try { navigator.sendBeacon(TARGET + "/requests", new Blob([json], {type: "application/json"})); } catch (error) {}
  return Promise.all([
    form("form-text", "text/plain"), form("form-url", "application/x-www-form-urlencoded"), form("form-parts", "multipart/form-data"),
    text("cors-json", post("cors", "application/json", json)), text("cors-lines", post("cors", "text/x-unweave", "node 5")),
    text("cors-plain", post("cors", "text/plain", "node 5")), text("no-cors-plain", post("no-cors", "text/plain", "node 5")),
    text("no-cors-json", post("no-cors", "application/json", json)), text("no-cors-none", post("no-cors", "", new Blob(["node 5"]))),
    text("read-status", fetch(TARGET + "/status")), text("read-no-cors", fetch(TARGET + "/predict?nodes=1", {mode: "no-cors"})),
    text("read-token", fetch(TARGET + "/status", {headers: {Authorization: "Bearer " + "t".repeat(32)}})),
    element("img", "/predict?nodes=1"), element("script", "/status"),
  ]);
};
"""
CROSS_PAGE = "<body><script>const TARGET = '%s';" + TRIES + """
tries().then(said => setTimeout(() => fetch("/said", {method: "POST", body: JSON.stringify(said)}), 1000));
</script>"""
# This page stays open while its name comes to mean the service: it goes on when its own server has gone.
REBOUND_PAGE = "<body><script>const TARGET = '';" + TRIES + """
const wait = async () => {
  for (;;) {
    try { if (await (await fetch("/marker")).text() !== "mine") break; } catch (error) {}
    await new Promise(done => setTimeout(done, 100));
  }
  return tries();
};
wait().then(said => setTimeout(() => fetch("%s/said", {method: "POST", mode: "no-cors", body: JSON.stringify(said)}), 1000));
</script>"""


class Site:
    """A server of pages on a port of this machine, which remembers what it was asked."""

    def __init__(self, pages=None, port=0):
        site = self
        self.pages, self.asked, self.said = pages or {}, [], []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                site.asked.append((self.command, self.path, dict(self.headers.items()), body))
                if self.path == "/said":
                    site.said.append(json.loads(body))
                page = site.pages.get(self.path, "").encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(page)))
                self.send_header("Connection", "close")
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(page)
                self.close_connection = True

            do_GET = do_POST = do_OPTIONS = do_HEAD = answer

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def end(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Browser:
    """Chromium with a page open; every name below .example means this machine."""

    def __init__(self, chromium, folder, page):
        self.profile = tempfile.mkdtemp(dir=folder)
        self.log = open(pathlib.Path(self.profile) / "log", "w+")
        self.process = subprocess.Popen([chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.profile}",
                                         "--host-resolver-rules=MAP *.example 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--remote-debugging-port=0",
                                         "--enable-logging=stderr", page], stdout=self.log, stderr=self.log)

    def wait(self, done, seconds=90):
        end = time.monotonic() + seconds
        while not done():
            if time.monotonic() > end or self.process.poll() is not None:
                self.log.seek(0)
                raise AssertionError("the page has not come to its end: " + self.log.read()[-3000:])
            time.sleep(0.05)

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def outcome_of_cross_page(chromium, folder, target):
    site = Site({"/": CROSS_PAGE % target})
    browser = Browser(chromium, folder, f"http://evil.example:{site.port}/")
    try:
        browser.wait(lambda: site.said)
    finally:
        browser.end()
        site.end()
    return {name: (kind, status, body) for name, kind, status, body in site.said[0]}


def check_pages_work(chromium, folder):
    """What the pages try does come through where nobody refuses it."""
    taker = Site()
    outcome_of_cross_page(chromium, folder, f"http://127.0.0.1:{taker.port}")
    taker.end()
    posted = [(headers.get("Content-Type", ""), body) for method, path, headers, body in taker.asked if method == "POST" and path == "/requests"]
    for kind, what in [("text/plain", b"node 5\r\n#"), ("application/x-www-form-urlencoded", b"node"), ("multipart/form-data", b"node 5"),
                       ("text/plain;charset=UTF-8", b"node 5")]:
        check(any(one.startswith(kind) and what in body for one, body in posted), kind, posted)
    check(any(method == "OPTIONS" for method, *_ in taker.asked), "scripts ask first", taker.asked)
    check(any(path.startswith("/predict") and method == "GET" for method, path, *_ in taker.asked), taker.asked)
    check(all(headers.get("Origin") for method, path, headers, _ in taker.asked if method == "POST"), taker.asked)


def check_cross(program, chromium, folder, *options):
    store = make_store(program, folder)
    service = Service(program, store, "--every", "50ms", *options)
    said = outcome_of_cross_page(chromium, folder, service.location)
    token = {"Authorization": "Bearer " + "t" * 32}
    status, answer = service.call("GET", "/status", headers=token)
    check(answer["acknowledged"] == 0, "a page has sent a request", answer)
    for name, (kind, _, body) in said.items():
        check(kind in ("failed", "sent", "opaque") and (not body or kind == "failed"), name, kind, body)
    check(said["img"][0] == said["script"][0] == "failed", said)
    check(service.end() == 0, service.error)
    shutil.rmtree(store)


def check_rebound(program, chromium, folder, *options):
    store = make_store(program, folder)
    ear = Site()
    site = Site({"/marker": "mine"})
    site.pages["/"] = REBOUND_PAGE % f"http://ear.example:{ear.port}"
    browser = Browser(chromium, folder, f"http://rebound.example:{site.port}/")
    try:
        browser.wait(lambda: any(path == "/marker" for _, path, *_ in site.asked))
        port = site.port
        site.end()
        service = Service(program, store, "--every", "50ms", *options, port=port)
        browser.wait(lambda: ear.said)
    finally:
        browser.end()
        ear.end()
    said = {name: (kind, status, body) for name, kind, status, body in ear.said[0]}
    for name in ["cors-json", "cors-lines", "cors-plain", "read-status", "read-token"]:
        kind, status, body = said[name]
        check(kind == "basic" and status == 403 and "Host" in body, "the service was reached by the page's name, and refused", name, said[name])
    status, answer = service.call("GET", "/status", headers={"Authorization": "Bearer " + "t" * 32})
    check(answer["acknowledged"] == 0, "a page has sent a request", answer)
    check(service.end() == 0, service.error)
    shutil.rmtree(store)


TOKEN = "t" * 32
HOSTILE = "<script>alert(1)</script>"


def shows(tab, *parts):
    text = tab.text()
    for part in parts:
        check(part in text, part, text[:3000])


def check_page(program, chromium, folder):
    """The page of the service, as a browser has it: with a token by its form, at two widths, and searched."""
    store = make_named_store(program, folder, ("exact", "newton"))
    tokens = folder / "page-tokens"
    tokens.write_text(TOKEN)
    options = ["--every", "20ms", "--solver", "exact", "--solver", "newton", "--receipts", str(folder / "receipts"), "--purge-every", "24h"]
    service = Service(program, store, *options, "--tokens", str(tokens))
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    gone, there = name_of(7), name_of(8)
    ids = [f"ticket-{number}" for number in range(60)]
    lines = [f"node {gone} id={HOSTILE}"] + [f"edge {name_of(20 + i)} {name_of(21 + i)} id={one}" for i, one in enumerate(ids)]
    lines += [f"edge {name_of(20)} {name_of(21)} id=again", f"set-label {there} 1 id=mended"]
    status, answer = service.call("POST", "/requests", "\n".join(lines), bearer)
    check(status == 200 and len(answer["acknowledged"]) == len(lines), answer)
    wait_until(lambda: service.call("GET", "/status", headers=bearer)[1]["waiting"] == 0)
    pictures = os.environ.get("UNWEAVE_PICTURES")  # a folder for pictures of the page
    with Tab(chromium) as tab:
        tab.open(service.location)
        shows(tab, "This service asks for a token.")
        check(store.name not in tab.js("document.title"), "a stranger hears nothing of the store")
        tab.check("login", pictures)
        tab.fill("token", "w" * 32)
        shows(tab, "This is no token of this service.")
        tab.check("login-wrong", pictures)
        check(not tab.ask("Network.getCookies")["cookies"], "a wrong token gets no cookie")
        tab.fill("token", TOKEN)
        check(tab.js("location.pathname + location.search") == "/", tab.js("location.href"))
        cookies = tab.ask("Network.getCookies")["cookies"]
        check(len(cookies) == 1 and cookies[0]["httpOnly"] and cookies[0]["sameSite"] == "Strict" and cookies[0]["path"] == "/", cookies)
        check(0 < cookies[0]["expires"] - time.time() <= 12 * 3600 + 5 and len(cookies[0]["value"]) == 64, cookies)
        shows(tab, "Requests of s", f"Not purged yet: {len(lines)} requests", "The next purge is due at", "takes requests", ids[-1], "mended", "exact, number 2",
              "forgets with every batch", "not purged yet")
        rows = tab.js("document.querySelectorAll('table')[0].tBodies[0].rows.length")
        check(rows == 50 and ids[0] not in tab.js("[...document.querySelectorAll('th code')].map(one => one.textContent)"), rows)
        check(gone not in tab.js("document.documentElement.outerHTML"), "the name of a node that was removed")
        tab.check("page", pictures)

        tab.fill("find", ids[3])
        shows(tab, "What became of the request", ids[3], "Receipt of the model exact", "Receipt of the model newton", '"nonce"', "not purged yet")
        line = service.call("GET", f"/receipts/{ids[3]}", headers=bearer)[1]
        shown = tab.js("document.querySelector('pre').textContent")
        check(json.loads(shown) == line, shown, line)
        tab.check("receipt", pictures)
        tab.ask("Emulation.setEmulatedMedia", media="print")
        check(tab.js("getComputedStyle(document.forms[0]).display") == "none", "the form is not printed")
        tab.size(794)
        if pictures:
            tab.picture(pathlib.Path(pictures) / "receipt-printed.png")
        tab.ask("Emulation.setEmulatedMedia", media="")
        tab.fill("find", "again")
        shows(tab, "asked for the same and was applied", "rejected")
        tab.fill("find", HOSTILE)
        shows(tab, HOSTILE, "What became of the request")
        check(tab.js("document.scripts.length") == 0 and tab.js("document.getElementById('find').value") == HOSTILE)
        tab.fill("find", HOSTILE + "'\"&amp;\u202e")
        shows(tab, "No request has the id " + HOSTILE + "'\"&amp;")
        check(tab.js("document.scripts.length") == 0 and "\u202e" not in tab.text())
        tab.check("nothing-found", pictures)
        told = []
        for name in (gone, "nobody@example.org"):
            tab.fill("find", name)
            told.append(tab.text().replace(name, "NAME").split("As of")[1].split("\n", 1)[1])
        check(told[0] == told[1] and "No node has the name NAME" in told[0], "whoever was removed was never there", told)
        tab.fill("find", there)
        shows(tab, f"A node of the store has the name {there}.")
        check(not tab.console, tab.console)

        cookie = {"Cookie": f"{cookies[0]['name']}={cookies[0]['value']}"}
        check(service.call("GET", "/", headers=cookie)[0] == 200)
        for path in ["/status", "/metrics", "/requests/mended", "/receipts/mended", "/certificates/exact", "/predict?nodes=%231"]:
            check(service.call("GET", path, headers=cookie)[0] == 401, "a cookie opens the page alone", path)
        for path, body in [("/requests", "node " + there), ("/purge", "{}")]:
            own = {"Origin": service.location, "Content-Type": "application/json" if path == "/purge" else "text/x-unweave"}
            check(service.call("POST", path, body, cookie | own)[0] == 401, "a cookie opens the page alone", path)
        check(service.call("POST", "/purge", "{}", bearer | {"Content-Type": "application/json"})[0] == 200)
        tab.open(service.location)
        shows(tab, "Nothing waits for a purge", "purged")
        tab.check("purged", pictures)
        tab.press("Log out")
        shows(tab, "This service asks for a token.")
        check(not tab.ask("Network.getCookies")["cookies"] and service.call("GET", "/", headers=cookie)[0] == 401, "a session ends at once")
    check(service.end() == 0, service.error)
    service = Service(program, store, "--every", "20ms")
    with Tab(chromium) as tab:
        tab.open(service.location)
        shows(tab, "Requests of s", "takes requests", "does not follow the service")
        check("Log out" not in tab.text())
    check(service.end() == 0, service.error)
    shutil.rmtree(store)


def main():
    program = os.path.abspath(sys.argv[1])
    chromium = sys.argv[2] if len(sys.argv) > 2 else shutil.which("chromium")
    if not chromium:
        print("skipped: there is no chromium")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tokens = folder / "tokens"
        tokens.write_text("t" * 32)
        for name, test in [("the page of the service", lambda: check_page(program, chromium, folder)), ("pages", lambda: check_pages_work(chromium, folder)),
                           ("another site", lambda: check_cross(program, chromium, folder)),
                           ("another site, with tokens", lambda: check_cross(program, chromium, folder, "--tokens", str(tokens))),
                           ("a name that comes to mean this machine", lambda: check_rebound(program, chromium, folder))]:
            started = time.monotonic()
            test()
            print(f"{name}: holds ({time.monotonic() - started:.1f} s)", flush=True)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        Program.end_all()
