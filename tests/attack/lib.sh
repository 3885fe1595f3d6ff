# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests here, behind tests/cli/lib.sh: what an attack costs, and other users.

# bounded CODE SECONDS MIB COMMAND...: as code, and it and its children take at most so much processor time, which others on the machine do
# not lengthen, and no process of it more resident memory. After ten times these seconds it is killed. Limits are upper bounds, of
# the program without sanitizers. CODE may be several, with commas between them.
bounded()
{
	python3 - "$work" "$@" <<'PY' || fail "${*/$ASSAY/assay}"
import os, signal, subprocess, sys
work, code, seconds, mib, *command = sys.argv[1:]
with open(work + "/out", "wb") as out, open(work + "/err", "wb") as err:
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(child.pid, signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, 10 * float(seconds))
    _, status, usage = os.wait4(child.pid, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
took, got = usage.ru_utime + usage.ru_stime, os.waitstatus_to_exitcode(status)
bad = []
if str(got) not in code.split(","):
    bad.append(f"exit code {got}, not {code}")
if took > float(seconds):
    bad.append(f"{took:.1f} s of processor time, not {seconds} at most")
if usage.ru_maxrss > int(mib) * 1024:
    bad.append(f"{usage.ru_maxrss / 1024:.0f} MiB resident, not {mib} at most")
for words in bad:
    print("    " + words)
if bad:
    for name in "out", "err":
        for line in open(f"{work}/{name}", errors="replace").readlines()[-15:]:
            print("    " + line.rstrip())
sys.exit(bool(bad))
PY
}

# can_be UID: the program can be started as another user; where it cannot, a part is skipped.
can_be()
{
	setpriv --reuid="$1" --regid="$1" --clear-groups "$ASSAY" --version >/dev/null 2>&1 && return
	skip_part "the program cannot be started as another user here (setpriv wants root, and folders that others may enter)"
	return 1
}

# become UID COMMAND...
become()
{
	local uid=$1
	shift
	setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
}
