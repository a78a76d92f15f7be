"""Firefox and WebKitGTK, as Debian has them, each asked in the language it speaks by itself.

Both give a page the same three ways: `go` to an address, `ask` a script for a value, and `trouble`,
what the page complained of, of which WebKitGTK tells nothing.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import websocket

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
WEBKIT = shutil.which("WebKitWebDriver") if shutil.which("Xvfb") else None
MINI = next(iter(sorted(Path("/usr/lib").glob("*/webkit2gtk-4*/MiniBrowser"))), None)
WIDE = (1280, 900)
LOADED = """() => new Promise((done) => {
  if (document.readyState === "complete") done(true);
  else addEventListener("load", () => done(true));
})"""


@contextmanager
def running(command, **options):
    """Run a program while a test needs it."""
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


class Firefox:
    """A page in Firefox, over WebDriver BiDi."""

    def __init__(self, address):
        self.line = websocket.create_connection(
            f"{address}/session", timeout=60, suppress_origin=True
        )
        self.numbers, self.trouble = count(1), []
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded"])
        tree = self.send("browsingContext.getTree")
        self.page = tree["contexts"][0]["context"]
        size = dict(zip(("width", "height"), WIDE, strict=True))
        self.send("browsingContext.setViewport", context=self.page, viewport=size)

    def send(self, method, **parameters):
        number = next(self.numbers)
        self.line.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            said = json.loads(self.line.recv())
            if said.get("method") == "log.entryAdded" and said["params"]["level"] == "error":
                self.trouble.append(said["params"]["text"])
            if said.get("id") == number:
                assert said["type"] == "success", said
                return said["result"]

    def go(self, address):
        self.send("browsingContext.navigate", context=self.page, url=address, wait="complete")
        self.ask(LOADED)  # Firefox may answer before its deferred scripts have run

    def ask(self, script):
        """Return what a function without arguments, whose value JSON can say, returns."""
        found = self.send(
            "script.evaluate",
            expression=f"Promise.resolve(({script})()).then(JSON.stringify)",
            target={"context": self.page},
            awaitPromise=True,
        )
        assert found["type"] == "success", found
        return json.loads(found["result"]["value"])


class WebKit:
    """A page in WebKitGTK, over WebDriver."""

    trouble = ()

    def __init__(self, address):
        self.address = address
        options = {"binary": str(MINI), "args": ["--automation"]}
        wanted = {"alwaysMatch": {"webkitgtk:browserOptions": options}}
        session = self.send("", capabilities=wanted)["sessionId"]
        self.address = f"{address}/session/{session}"
        self.send("/window/rect", width=WIDE[0], height=WIDE[1])

    def send(self, where, **body):
        path = where or "/session"
        request = urllib.request.Request(
            self.address + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def go(self, address):
        self.send("/url", url=address)

    def ask(self, script):
        """Return what a function without arguments, whose value JSON can say, returns."""
        wrapped = f"const tell = arguments[0]; Promise.resolve(({script})()).then(tell);"
        return self.send("/execute/async", script=wrapped, args=[])


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def firefox(folder):
    """Give a page in Firefox, whose profile is in `folder`."""
    command = [FIREFOX, "--headless", "--no-remote", "--profile", str(folder)]
    command += ["--remote-debugging-port", "0"]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    environment = os.environ | {"HOME": str(folder)}
    with running(command, env=environment, **options) as process:
        for line in process.stdout:
            if found := re.search(r"WebDriver BiDi listening on (ws://\S+)", line):
                page = Firefox(found[1])
                yield page
                page.line.close()
                return
        raise RuntimeError("Firefox did not start")


@contextmanager
def webkit(folder):
    """Give a page in WebKitGTK, on a screen of its own."""
    number = free_port()
    screen = f":{number}"
    environment = os.environ | {
        "DISPLAY": screen,
        "HOME": str(folder),
        "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1",
        "WEBKIT_DISABLE_DMABUF_RENDERER": "1",
    }
    port, quiet = free_port(), {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    show = ["Xvfb", screen, "-screen", "0", "1280x1000x24", "-nolisten", "tcp"]
    drive = [WEBKIT, f"--port={port}"]
    with running(show, **quiet), running(drive, env=environment, **quiet):
        for _ in range(100):
            try:
                page = WebKit(f"http://127.0.0.1:{port}")
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise RuntimeError("WebKit did not start")
        try:
            yield page
        finally:
            urllib.request.urlopen(urllib.request.Request(page.address, method="DELETE")).close()
