# SPDX-License-Identifier: Apache-2.0
"""page.py WHAT PROGRAM ARGUMENT...: runs the program, joins at the address that it tells, and answers as a page would, but for WHAT:
zero, negative, load: times that no clock gives; late, late_load: more than have passed; threads: fewer than one; long: 64 MiB where the outputs have some kB. Python's standard library alone."""
import http.client
import json
import re
import struct
import subprocess
import sys
import urllib.parse

what = sys.argv[1]
program = subprocess.Popen(sys.argv[2:], stderr=subprocess.PIPE, text=True)
for line in program.stderr:
    found = re.search(r"http://\S+", line)
    if found:
        break
else:
    sys.exit("no address was told")
url = urllib.parse.urlsplit(found.group(0))


def ask(method, path, body=b""):
    c = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
    c.request(method, url.path + path, body)
    answer = c.getresponse()
    return answer.status, answer.read()


def reply(n, head, more=b""):
    text = json.dumps(head).encode()
    text += b" " * ((28 - len(text) % 16) % 16)
    return ask("POST", "reply?i=a&n=%d" % n, struct.pack("<I", len(text)) + text + more)[0]


try:
    ask("POST", "hello?i=a", json.dumps({"user_agent": "Chrome/1.2 x", "isolated": True}).encode())
    status, n = 200, 1
    while status == 200:
        status, command = ask("GET", "next?i=a&n=%d" % n)
        if status == 204:
            status = 200
            continue
        if status != 200:
            break
        op = json.loads(command[4:4 + struct.unpack("<I", command[:4])[0]])["op"]
        head = {"ok": True}
        if op == "open":
            head.update(times={"load_ms": {"load": -5, "late_load": 5e6}.get(what, 5)}, threads=-5 if what == "threads" else 1, version="1", inputs=[], outputs=[])
        if op == "run":
            head.update(ms={"zero": 0, "negative": -5, "late": 50000}.get(what, 1), outputs=[])
        status = reply(n, head, bytes(64 << 20) if op == "run" and what == "long" else b"")
        n += 1
except (OSError, http.client.HTTPException):
    pass          # it was refused, and has ended
program.stderr.read()
sys.exit(program.wait())
