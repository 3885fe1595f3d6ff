#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A server that behaves like the Hub, for tests: the list of a model, HEAD and GET of its files, and a second port that stands for
the CDN to which large files redirect. Python's standard library alone.

    server.py ROOT PORTS LOG [CERTIFICATE]     serves ROOT/ORG/NAME/...; writes "HUB CDN" (two ports) to PORTS when it listens, and a line for
                                 each request to LOG: "hub|cdn METHOD PATH authorization=... range=... status=..."
                                 CERTIFICATE: the hub, not the CDN, speaks https with this file's key and certificate

What it does wrong is asked for at /control?JSON (a new one replaces the old):
    status   [{"match", "code", "times", "headers"}]  answers of that status to paths with that word in them
    cut      {"FILE": [N, ...]}     the connection ends after N bytes, once for each N
    corrupt  {"FILE": TIMES}        one byte is another
    hold     {"FILE": SECONDS}      waits in the middle
    drip     {"FILE": BYTES}        the first so many bytes of it, and after them 4 a second
    other_part {"FILE": "told" | "untold"}   where a range is asked for another one is given; the answer says so or not
    no_ranges, chunked              a CDN that knows no ranges; one that gives no Content-Length
    cdn_direct                      the hub gives large files itself
    etag     "weak" | "plain" | "none" | "odd" | "other" | "same" | "partial" | "moves"     how ETags look; moves: that of
             the rest of a file is another
    etag     "=WORD"                that one, and no commit beside it
    bare     true                   a list with names alone: no sizes, no hashes
    size     {"FILE": N}            sizes that the list says instead
    extra    ["../x", ...]          names more in the list
    list     "TEXT"                 the list itself
    commit   "HEX"                  what X-Repo-Commit says
    rename   {"OLD/NAME": "NEW/NAME"}
    downgrade "http://..."          where large files redirect to
"""
import hashlib
import http.server
import json
import os
import ssl
import sys
import threading
import time
import urllib.parse

root, ports_path, log_path = sys.argv[1:4]
control = {}
guard = threading.Lock()
log = open(log_path, "a", buffering=1)
TOKEN = "hf_good"


def read(model, name):
    with open(os.path.join(root, model, name), "rb") as f:
        return f.read()


def is_large(name):
    return name.endswith((".safetensors", ".bin", ".h5"))


def names_of(model):
    base = os.path.join(root, model)
    for folder, _, files in os.walk(base):
        for f in files:
            yield os.path.relpath(os.path.join(folder, f), base)


def commit_of(model):
    h = hashlib.sha1(model.encode())
    for name in sorted(names_of(model)):
        h.update(name.encode() + read(model, name))
    return h.hexdigest()


def git_sha1(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def take_one(table, key):
    """The next of what control says of a file: a list is used up, a number counts down."""
    with guard:
        value = table.get(key)
        if isinstance(value, list):
            return value.pop(0) if value else None
        if value:
            table[key] = value - 1
        return value


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def say(self, status):
        log.write("%s %s %s authorization=%s range=%s status=%d\n" % (
            self.server.role, self.command, self.path, self.headers.get("Authorization", "-").replace(" ", "_"),
            self.headers.get("Range", "-"), status))

    def answer(self, status, body=b"", headers=()):
        self.say(status)
        self.send_response(status)
        for k, v in headers:
            self.send_header(k, v)
        if not any(k == "Content-Length" for k, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, code, message):
        self.answer(status, json.dumps({"error": message}).encode(), [("X-Error-Code", code), ("X-Error-Message", message)])

    def fault(self):
        for f in control.get("status", []):
            if f["match"] in self.path and f.get("times", 1) > 0:
                with guard:
                    f["times"] = f.get("times", 1) - 1
                self.answer(f["code"], b"no", list(f.get("headers", {}).items()))
                return True
        return False

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        global control
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/control":
            control = json.loads(urllib.parse.unquote(url.query) or "{}")
            self.answer(200)
        elif self.fault():
            pass
        elif self.server.role == "cdn":
            model, name = url.path[1:].split("//", 1)
            self.content(model, urllib.parse.unquote(name))
        else:
            self.hub(url)

    # ---- the hub -------------------------------------------------------------------------------------------------

    def model_of(self, model):
        """The model, when the client may see it; None after an answer."""
        token = self.headers.get("Authorization")
        renamed = control.get("rename", {}).get(model)
        if renamed:
            self.answer(307, b"moved", [("Location", self.path.replace(model, renamed, 1))])
            return None
        if token not in (None, "Bearer " + TOKEN, "Bearer hf_stranger"):
            self.refuse(401, "", "Invalid credentials in Authorization header")
        elif not os.path.isdir(os.path.join(root, model)) or (model.startswith("private/") and token != "Bearer " + TOKEN):
            self.refuse(404 if token else 401, "RepoNotFound", "Repository not found")
        else:
            return model
        return None

    def hub(self, url):
        parts = url.path.strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            at = next((parts.index(w) for w in ("revision", "tree") if w in parts), len(parts))
            model = self.model_of("/".join(parts[2:at]))
            if model and parts[at:at + 1] == ["tree"]:
                self.tree(model)
            elif model:
                revision = urllib.parse.unquote(parts[at + 1]) if at + 1 < len(parts) else "main"
                self.listing(model, revision, "blobs=" in url.query)
        elif "resolve" in parts:
            at = parts.index("resolve")
            model = self.model_of("/".join(parts[:at]))
            if model:
                self.resolve(model, parts[at + 1], urllib.parse.unquote("/".join(parts[at + 2:])))
        else:
            self.answer(404, b"what?")

    def tree(self, model):
        """What newer versions of huggingface_hub ask for; assay does not."""
        entries = []
        for name in sorted(names_of(model)):
            data = read(model, name)
            e = {"type": "file", "path": name, "size": len(data), "oid": git_sha1(data)}
            if is_large(name):
                e["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
            entries.append(e)
        self.answer(200, json.dumps(entries).encode(), [("Content-Type", "application/json")])

    def listing(self, model, revision, blobs):
        commit = commit_of(model)
        if revision not in ("main", "v1", "refs/pr/1", commit):
            return self.refuse(404, "RevisionNotFound", "Invalid rev id: " + revision)
        siblings = []
        for name in sorted(names_of(model)):
            data = read(model, name)
            s = {"rfilename": name}
            if blobs and not control.get("bare"):
                s["size"] = control.get("size", {}).get(name, len(data))
                s["blobId"] = git_sha1(data)
                if is_large(name):
                    s["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": s["size"], "pointerSize": 130}
            siblings.append(s)
        siblings += [{"rfilename": n, "size": 1} for n in control.get("extra", [])]
        body = control.get("list")
        if body is None:
            body = json.dumps({"id": model, "modelId": model, "sha": commit, "private": False, "gated": False, "siblings": siblings})
        self.answer(200, body.encode(), [("Content-Type", "application/json")])

    def resolve(self, model, revision, name):
        commit = commit_of(model)
        if revision not in ("main", "v1", commit):
            return self.refuse(404, "RevisionNotFound", "Invalid rev id: " + revision)
        if model.startswith("gated/"):
            token = self.headers.get("Authorization")
            if not token:
                return self.refuse(401, "GatedRepo", "Access to model %s is restricted. You must be authenticated." % model)
            if token != "Bearer " + TOKEN:
                return self.refuse(403, "GatedRepo", "Access to model %s is restricted and you are not in the list." % model)
        if not os.path.isfile(os.path.join(root, model, name)):
            return self.refuse(404, "EntryNotFound", "Entry not found")
        data = read(model, name)
        headers = [("X-Repo-Commit", control.get("commit", commit))]
        if is_large(name) and not control.get("cdn_direct"):
            to = control.get("downgrade") or "http://127.0.0.1:%d/%s//%s" % (cdn.server_port, model, urllib.parse.quote(name))
            headers += [("X-Linked-ETag", '"%s"' % hashlib.sha256(data).hexdigest()), ("X-Linked-Size", str(len(data))),
                        ("Location", to), ("ETag", '"' + "0" * 40 + '"')]
            return self.answer(302, b"Found. Redirecting", headers)
        etag = {"weak": 'W/"%s"', "plain": "%s"}.get(control.get("etag"), '"%s"') % (
            hashlib.sha256(data).hexdigest() if is_large(name) else git_sha1(data))
        etag = {"odd": '"../../x"', "other": '"v1-' + hashlib.md5(data).hexdigest() + '"', "same": '"x"', "partial": '"x.incomplete"'}.get(control.get("etag"), etag)
        if control.get("etag", "").startswith("="):
            etag = '"' + control["etag"][1:] + '"'
        if control.get("etag") == "moves":
            etag = '"v2"' if self.headers.get("Range") else '"v1"'
        if control.get("etag") == "weak":
            etag = 'W/"v"'
        if control.get("etag", "").startswith(("other", "=", "moves", "weak")):
            headers = []
        if control.get("etag") != "none":
            headers.append(("ETag", etag))
        self.content(model, name, headers)

    # ---- bytes ---------------------------------------------------------------------------------------------------

    def content(self, model, name, headers=()):
        data = read(model, name)
        headers = list(headers)
        if self.server.role == "cdn":
            headers.append(("ETag", '"cdn-' + hashlib.md5(data).hexdigest() + '"'))
        wanted, begin, status = self.headers.get("Range"), 0, 200
        if self.command != "HEAD":
            if take_one(control.get("corrupt", {}), name):
                data = bytes([data[0] ^ 1]) + data[1:]
            if wanted and not control.get("no_ranges"):
                begin, status = int(wanted[len("bytes="):].split("-")[0]), 206
                if begin >= len(data):
                    return self.answer(416, b"", headers + [("Content-Range", "bytes */%d" % len(data))])
                other = control.get("other_part", {}).get(name)
                if other:
                    data = data[begin // 2:] + data[:begin // 2]
                told = begin // 2 if other == "told" else begin
                headers.append(("Content-Range", "bytes %d-%d/%d" % (told, told + len(data) - begin - 1, len(data))))
        body = data[begin:]
        if self.command == "HEAD":
            return self.answer(status, b"", headers + [("Content-Length", str(len(body)))])
        cut = take_one(control.get("cut", {}), name)
        hold = control.get("hold", {}).get(name)
        self.say(status)
        self.send_response(status)
        for k, v in headers:
            self.send_header(k, v)
        if control.get("chunked"):
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) if body else b"0\r\n\r\n")
            return
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        drip = control.get("drip", {}).get(name)
        if drip is not None:
            drip = max(drip - begin, 0)
            self.wfile.write(body[:drip])
            for i in range(drip, len(body), 4):
                self.wfile.write(body[i:i + 4])
                self.wfile.flush()
                time.sleep(1)
            return
        if hold:
            self.wfile.write(body[:len(body) // 2])
            self.wfile.flush()
            time.sleep(hold)
            body = body[len(body) // 2:]
        if cut is not None:
            self.wfile.write(body[:cut])
            self.wfile.flush()
            self.close_connection = True
            return
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, role):
        self.role = role
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, *_):
        pass                        # a client that went away


hub, cdn = Server("hub"), Server("cdn")
if len(sys.argv) > 4:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[4])
    hub.socket = context.wrap_socket(hub.socket, server_side=True)
threading.Thread(target=cdn.serve_forever, daemon=True).start()
with open(ports_path + ".new", "w") as f:
    f.write("%d %d\n" % (hub.server_port, cdn.server_port))
os.rename(ports_path + ".new", ports_path)
hub.serve_forever()
