# SPDX-License-Identifier: Apache-2.0
# What the scripts that make documents share: a file is written aside and renamed, so that a script that dies leaves the old one; and
# what a document was made from, as a hash or a commit that stands in it.
import hashlib, os, re, subprocess, tempfile

root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")

def write(path, text):
    folder = os.path.dirname(os.path.abspath(path))
    handle, new = tempfile.mkstemp(dir=folder, prefix=os.path.basename(path) + ".")
    try:
        with os.fdopen(handle, "w") as f:
            f.write(text)
        os.chmod(new, 0o644)
        os.replace(new, path)
    except BaseException:
        os.unlink(new)
        raise

# "<!-- cases: N, SHA-256 -->" of the files of conformance cases: their names and contents.
def cases_line(folders):
    h = hashlib.sha256()
    for folder in sorted(folders, key=os.path.basename):
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), "rb") as f:
                h.update(f"{os.path.basename(folder)}/{name}\0".encode() + hashlib.sha256(f.read()).digest())
    return f"<!-- cases: {len(folders)}, {h.hexdigest()} -->"

# ", commit 0123abc", of the sources beside the scripts; "" where there is no history. The program should be built from them.
def commit():
    def git(*words):
        return subprocess.run(["git", "-C", root, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    found = git("rev-parse", "--short", "HEAD")
    if found.returncode:
        return ""
    changed = git("status", "--porcelain", "--untracked-files=no", "--", "src", "cli", "include").stdout
    return f", commit {found.stdout.strip()}{' and changes' if changed else ''}"

# A document is not stale because there was another commit since.
def without_commit(text):
    return re.sub(r", commit [0-9a-f]+( and changes)?", "", text)
