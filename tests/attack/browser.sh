# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# A browser works for assay; others on the machine, and pages elsewhere, want its job or want it to starve. The browser is a stand-in that
# waits until they have tried (browser.py).
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python

# Found before any real one: beside the engines, and nothing in PATH.
mkdir -p "$work/engines/onnxruntime-web" "$work/browsers/chromium-webnn" "$work/empty" "$work/fake"
echo '/*! ONNX Runtime Web v1.30.0 */' >"$work/engines/onnxruntime-web/ort.webgpu.bundle.min.mjs"
printf '#!/bin/sh\nPATH="%s" exec python3 "%s/tests/attack/browser.py" "$@"\n' "$PATH" "$SOURCE" >"$work/browsers/chromium-webnn/chromium"
chmod +x "$work/browsers/chromium-webnn/chromium"
unset ASSAY_BROWSER_PATH
export FAKE_BROWSER=$work/fake
# A program of the current folder is none, where PATH has that too.
mkdir "$work/planted" && printf '#!/bin/sh\necho >"%s"\n' "$work/planted/ran" >"$work/planted/chromium" && chmod +x "$work/planted/chromium"
(cd "$work/planted" && PATH=. ASSAY_ENGINE_PATH=$work/planted/engines "$ASSAY" detect webgpu >"$work/out" 2>&1 </dev/null)
[ ! -e "$work/planted/ran" ] || fail "a browser of the current folder was started"
PATH=$work/empty ASSAY_ENGINE_PATH=$work/engines "$ASSAY" detect webgpu --json >"$work/out" 2>"$work/err" </dev/null &
assay=$!
for _ in $(seq 600); do [ -e "$work/fake/told" ] && break; sleep 0.05; done
[ -e "$work/fake/told" ] || { cat "$work/err"; fail "no browser was started"; finish; }

# What everybody can read of its processes does not have the key; the file that has it is the user's own.
python3 - "$work/fake/told" <<'PY' || fail "the key to the page can be had"
import json, re, sys
told = json.load(open(sys.argv[1]))
words = open("/proc/%d/cmdline" % told["pid"], "rb").read().decode(errors="replace").split("\0")
key = told["url"].split("/")[3]
assert re.fullmatch("[0-9a-f]{32}", key), told["url"]
assert key not in "".join(words), "it is among the arguments: " + " ".join(words)
assert told["modes"] == [0o600, 0o700], told["modes"]
assert told["folder"] == "/", told["folder"] # of the current one a browser reads settings that name libraries
PY

# All who ask, in one process; another user is a child of it. attack(WANTED, METHOD, HEADERS, UID): the status of the answer, or "refused".
SUPER=$(id -u) python3 - "$work/fake/told" >"$work/asked" 2>&1 <<'PY' || { fail "the page is had by others, or not by its own: $(cat "$work/asked")"; }
import http.client, json, os, socket, sys, urllib.parse
url = urllib.parse.urlsplit(json.load(open(sys.argv[1]))["url"])
"x".encode("idna")                       # loaded now: the other user may not read Python's files
bad = []


def ask(method, headers, source=None):
    try:
        c = http.client.HTTPConnection(url.hostname, url.port, timeout=10, source_address=source)
        c.putrequest(method, url.path + ("note?i=x" if method == "POST" else ""), skip_host="Host" in headers)
        for name, value in headers.items():
            c.putheader(name, value.replace("PORT", str(url.port)))
        c.putheader("Content-Length", "0")
        c.endheaders()
        return str(c.getresponse().status)
    except (ConnectionError, http.client.HTTPException):
        return "refused"
    except OSError as e:
        return str(e)


def as_other(uid, method, source):
    out, into = os.pipe()
    if os.fork() == 0:
        os.setgroups([])
        os.setresuid(uid, uid, uid)
        os.write(into, ask(method, {}, source).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as f:
        answer = f.read()
    os.wait()
    return answer


def attack(wanted, method, headers={}, uid=None, source=None):
    got = ask(method, headers, source) if uid is None else as_other(uid, method, source)
    if got != wanted:
        bad.append("%r, not %s: %s %s %s %s" % (got, wanted, method, headers, uid or "", source or ""))


attack("200", "GET")
attack("200", "GET", {"Host": "localhost:PORT"})
attack("409", "POST", {"Origin": "http://127.0.0.1:PORT"})             # another browser's note, from the page itself

# A name that an attacker lets point here; a page of an attacker, in whatever browser.
attack("403", "GET", {"Host": "rebound.example:PORT"})
attack("403", "GET", {"Host": "127.0.0.1.rebound.example"})
attack("403", "POST", {"Host": "rebound.example:PORT", "Origin": "http://rebound.example:PORT"})
attack("403", "POST", {"Origin": "http://elsewhere.example"})
attack("403", "POST", {"Origin": "null"})
attack("403", "POST", {"Origin": "http://127.0.0.1:1"})

# Another user has the key, from wherever: the connection is not taken.
if os.environ["SUPER"] == "0":
    attack("refused", "GET", uid=65534)
    attack("refused", "POST", uid=65534)
    attack("refused", "GET", uid=65534, source=("127.0.0.2", 0)) # found by its addresses, too
attack("200", "GET", source=("127.0.0.2", 0))

# Many who begin to ask and never end: the page is there all the same.
held = []
for i in range(300):
    s = socket.create_connection((url.hostname, url.port), timeout=10)
    s.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n" if i % 2 else b"")
    held.append(s)
for _ in range(5):
    attack("200", "GET")
if bad:
    sys.exit("\n".join(bad))
PY
[ "$(id -u)" = 0 ] || skip_part "only the super-user can become another user"

: >"$work/fake/go"
wait $assay || fail "detect: exit code $?"
json 'd["platforms"][0]["name"] == "webgpu" and any("fake" in x["description"] for x in d["platforms"][0]["devices"])'

# One that cannot be asked leaves open what the others deny, though those are devices of another platform.
printf '#!/bin/sh\nkill -XFSZ $$\n' >"$work/firefox" && chmod +x "$work/firefox"
(ulimit -f 100000; failures=0; PATH=$work/empty ASSAY_ENGINE_PATH=$work/engines ASSAY_BROWSER_PATH=$work/firefox code 0 "$ASSAY" detect webnn webgpu --json; exit $failures) || failures=$((failures + 1))
json '[p["verdict"] for p in d["platforms"]] == ["not_asked", None] and "100000 KiB here, and firefox may need more: raise the limit (ulimit -f)" in d["platforms"][0]["reason"]'

# WebNN has the weights in one file in memory, and waits without a word where that may not be as large.
(ulimit -f 32768; failures=0; FAKE_WEBNN=1 ASSAY_CACHE=$work/webnn PATH=$work/empty ASSAY_ENGINE_PATH=$work/engines code 2 "$ASSAY" run "$SOURCE/tests/conform/cases/bert" \
	--synthetic --on webnn --runs 1 --no-conform --no-db --json --timeout 5; exit $failures) || failures=$((failures + 1))
json 'd[0]["verdict"] == "not_asked" and "a file may have 32768 KiB here, and chromium needs 32" in d[0]["cause"]'

# A browser's launchers add to an environment of which the kernel takes no more.
(ulimit -s 8192; failures=0; FAKE_WEBNN=1 ASSAY_CACHE=$work/webnn PATH=$work/empty ASSAY_ENGINE_PATH=$work/engines code 2 "$(command -v python3)" -c 'import os, sys
os.execve(sys.argv[1], sys.argv[1:], dict(os.environ, **{"LARGE%d" % i: "x" * 120000 for i in range(17)}))' \
	"$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on webnn --runs 1 --no-conform --no-db --json --timeout 5; exit $failures) || failures=$((failures + 1))
json 'd[0]["verdict"] == "not_asked" and "KiB are left for the environment here, and chromium may need 64: raise the limit (ulimit -s" in d[0]["cause"]'

# An engine that dies as it is loaded was passed over for the browser, and nothing said so: its death is the verdict, and the browser is named.
mkdir "$work/engines/onnxruntime" && cp "$BUILD/tests/attack_shim.so" "$work/engines/onnxruntime/libonnxruntime.so" || fail "no library"
died='CPU: engine: the process .*; chromium is here and is asked for by its name, --on cpu:chromium'
faulty() { PATH=$work/empty ASSAY_ENGINE_PATH=$work/engines SHIM_FAULTS=1 "$ASSAY" "$@"; }
code 0 faulty detect cpu --json
json 'd["platforms"][0]["verdict"] == "crashed" and not d["platforms"][0]["available"] and d["platforms"][0]["devices"][0]["name"] == "chromium"'
has out "\"reason\": \"$died"
code 2 faulty run "$SOURCE/tests/conform/cases/bert" --synthetic --on cpu --runs 1 --no-conform --no-db --json
json 'd[0]["verdict"] == "crashed"'
has out "\"cause\": \"$died"
PATH=$work/empty ASSAY_ENGINE_PATH=$work/engines SHIM_EXITS=1 code 2 "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on cpu --runs 1 --no-conform --no-db --json
has out '"cause": "CPU: engine: the process ended with exit code 0 while it loaded [^ ]*/libonnxruntime.so; chromium'
PATH=$work/empty ASSAY_ENGINE_PATH=$work/engines SHIM_FLOODS=1 code 2 "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on cpu --runs 1 --no-conform --no-db --json
has out '"cause": "CPU: .*: a line of more than 16 MiB came from the engine.s process; chromium'
rm -r "$work/engines/onnxruntime"

# A page that joins tells times that no clock gives, threads that nothing has, and an answer that is larger than the outputs: the row has failed, and says why.
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/model"
timeout=$(command -v timeout) python=$(python3 -c 'import sys; print(sys.executable)')
page() # no real browser is in PATH, or each would be started to be asked what it is
{
	PATH=$work/empty ASSAY_ENGINE_PATH=$work/engines "$timeout" 30 "$python" "$SOURCE/tests/attack/page.py" "$1" \
		"$ASSAY" run "$work/model" --on cpu:remote --runs 1 --no-conform --no-db --json >"$work/$1.out" 2>"$work/$1.err"
}
pids=
for what in zero negative load late late_load threads long; do
	page $what &
	pids="$pids $!"
done
# shellcheck disable=SC2086
wait $pids
fails()
{
	grep -q '"verdict": "failed"' "$work/$1.out" && grep -Eq "\"cause\": \"browser: the page.*$2" "$work/$1.out" && return
	fail "$1: $(grep -E '"(verdict|cause)"' "$work/$1.out" "$work/$1.err")"
}
fails zero 'a time that nothing can have taken: of a run 0 ms'
fails negative 'a time that nothing can have taken: of a run -5 ms'
fails load 'a time that nothing can have taken: load_ms -5 ms'
fails late 'says that a run took 50000 ms, and its answer was here after [0-9.]+ ms'
fails late_load 'says that loading took 5e.06 ms, and its answer was here after'
fails threads 'says that it has -5 threads'
fails long 'answer is larger than the [0-9]{7} bytes'
finish
