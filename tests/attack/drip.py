# SPDX-License-Identifier: Apache-2.0
"""A Hub whose bytes come four a second, for ever; prints its port. What drips is the model's name, org/WHAT:
    headers     the headers of the list            hints   interim answers before it
    list        the list                           page    the page of a redirect
    hops        nothing: each of its redirects comes soon enough, and there is no end of them
    file        the headers of a file; its list is good
    many        nothing: a list of 10,001 files without sizes comes at once
    busy        nothing: the list is there in 100 s, as the answer says"""
import json
import re
import socket
import threading
import time

LIST = json.dumps({"sha": "a" * 40, "siblings": [{"rfilename": "config.json", "size": 2}, {"rfilename": "model.safetensors", "size": 1}]}).encode()
MANY = json.dumps({"sha": "a" * 40, "siblings": [{"rfilename": "%d" % i} for i in range(10001)]}).encode()


def head(status, *lines):
    return "\r\n".join(("HTTP/1.1 %d X" % status, *lines, "\r\n")).encode()


def drip(connection, data=b""):
    at = 0
    while True:
        connection.sendall(data[at:at + 4] or b"    ")
        at += 4
        time.sleep(1)


def answer(connection, path, what):
    if what in ("headers", "file") and path.startswith("/api/") == (what == "headers"):
        drip(connection, head(200, "X: " + "y" * 100000))
    elif what == "hints":
        while True:
            connection.sendall(head(103, "X: y"))
            time.sleep(1)
    elif what == "list":
        connection.sendall(head(200, "Content-Length: 1000000"))
        drip(connection)
    elif what == "page":
        connection.sendall(head(302, "Content-Length: 1000000", "Location: " + path))
        drip(connection)
    elif what == "hops":
        time.sleep(0.7)
        connection.sendall(head(302, "Content-Length: 0", "Location: " + path))
    elif what == "busy":
        connection.sendall(head(503, "Content-Length: 0", "Retry-After: 100"))
    else:
        data = MANY if what == "many" else LIST
        connection.sendall(head(200, "Content-Length: %d" % len(data)) + data)


def serve(connection):
    try:
        while True:
            request = b""
            while b"\r\n\r\n" not in request:
                more = connection.recv(65536)
                if not more:
                    return
                request += more
            path = request.split()[1].decode()
            answer(connection, path, re.search("org/([a-z]+)", path).group(1))
    except OSError:
        pass


server = socket.create_server(("127.0.0.1", 0), backlog=64)
print(server.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
