#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What jinja2 makes of the templates in tests/chat, each with every conversation: tests/chat/expected.json.
    tools/chat_cases.py                     writes it (pip install jinja2==3.1.6)
    tools/chat_cases.py --fuzz N PROGRAM    N random templates: the program's `tokenize --messages` against jinja2
Development only."""
import copy, json, pathlib, random, subprocess, sys, tempfile, warnings
import jinja2, jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "chat"


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_same"), [], [], body).set_lineno(line)

    def _same(self, caller):
        return caller()


def environment():
    """As transformers 5 sets it up for chat templates."""
    def fail(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = fail
    return env


def render(env, text, variables):
    try:
        return {"text": env.from_string(text).render(**variables)}
    except Exception as e:
        return {"error": str(e)}


def write():
    env = environment()
    conversations = json.loads((FOLDER / "conversations.json").read_text())
    expected = {}
    for path in sorted(FOLDER.glob("*.jinja")):
        tokens = {"bos_token": "<s>", "eos_token": "</s>"}
        expected[path.stem] = [render(env, path.read_text(), {**tokens, "tools": None, **c}) for c in conversations]
    (FOLDER / "expected.json").write_text(json.dumps(expected, ensure_ascii=False, indent=0) + "\n")


ATOMS = ["1", "2", "-3", "0", "1.5", "'ab'", "'Q x'", "'é'", "true", "none", "[1, 2]", "['b', 'a']", "{'k': 1}", "(1, 'z')", "x", "s", "l", "d",
         "m", "u", "messages", "''", "[]", "range(4)", "d.k", "l[0]", "s[1:]", "l[::-1]", "messages[0].role", "ns.a"]
FILTERS = ["trim", "upper", "lower", "length", "list", "first", "last", "join('-')", "string", "int", "float", "default('z')", "tojson", "title",
           "capitalize", "replace('a', 'b')", "sort", "reverse | list", "map('string') | list", "select | list", "reject('none') | list", "abs",
           "items | list", "dictsort", "unique | list", "max", "indent(2)", "tojson(indent=1)", "count", "selectattr('role') | list"]
TESTS = ["string", "mapping", "iterable", "sequence", "number", "boolean", "integer", "none", "defined", "odd", "in [1, 'ab']", "eq 1", "lower", "true"]
BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", ">=", "and", "or", "in", "not in"]
METHODS = ["strip()", "split()", "upper()", "items()", "keys() | list", "get('k')", "get('q', 5)", "startswith('a')", "split('b')", "title()", "nothing",
           "append(1)", "index(1)", "count('a')", "replace('a', 'cc')", "isupper()", "join(['p', 'q'])", "find('b')"]


def expression(r, depth):
    if depth == 0 or r.random() < 0.15:
        return r.choice(ATOMS)
    e = lambda: expression(r, depth - 1)
    return r.choice([
        lambda: f"({e()} {r.choice(BINARY)} {e()})", lambda: f"{e()} {r.choice(BINARY)} {e()}", lambda: f"({e()}) | {r.choice(FILTERS)}",
        lambda: f"{e()} | {r.choice(FILTERS)}", lambda: f"({e()}).{r.choice(METHODS)}", lambda: f"({e()})[{e()}]", lambda: f"({e()})[{e()}:{e()}]",
        lambda: f"({e()} is {r.choice(['', 'not '])}{r.choice(TESTS)})", lambda: f"({e()} if {e()} else {e()})", lambda: f"({e()} if {e()})",
        lambda: f"[{e()}, {e()}]", lambda: f"not {e()}", lambda: f"-{e()}", lambda: f"f({e()}, b={e()})", lambda: f"{{'p': {e()}}}"])()


def block(r, depth):
    dash = lambda: r.choice(["", "", "-", "+"])
    tag = lambda s: "{%" + dash() + " " + s + " " + r.choice(["", "", "-"]) + "%}" + r.choice(["", "\n", "\n  ", " "])
    b = lambda: "".join(block(r, depth - 1) for _ in range(r.randint(0, 2)))
    e = lambda: expression(r, r.choice([0, 1, 1, 2]))
    if depth == 0:
        return r.choice(["text ", "\n", "  a\n  ", "{{" + r.choice(["", "-"]) + " " + e() + " " + r.choice(["", "-"]) + "}}", "{# c #}\n"])
    return r.choice([
        lambda: block(r, 0), lambda: "{{ " + e() + " }}", lambda: tag("if " + e()) + b() + tag("elif " + e()) + b() + tag("else") + b() + tag("endif"),
        lambda: tag("for x in " + e()) + b() + "{{ x }}{{ loop.index }}" + tag("endfor"), lambda: tag("set s = " + e()),
        lambda: tag("for x in l if " + e()) + b() + tag("else") + b() + tag("endfor"), lambda: tag("set ns.a = " + e()),
        lambda: tag("set s") + b() + tag("endset"), lambda: tag("filter upper") + b() + tag("endfilter"),
        lambda: tag("for x in l") + tag("if " + e()) + tag("break") + tag("endif") + b() + tag("endfor")])()


START = "{% set ns = namespace(a=1) %}{% set x = 3 %}{% set s = 'abc' %}{% set l = [1, 'b', none] %}{% set d = {'k': 'v', 'n': [1]} %}" \
        "{% macro f(a, b='dd') %}<{{ a }}|{{ b }}>{% endmacro %}"


def fuzz(count, program):
    warnings.simplefilter("ignore")
    env, r, different, refused, failed = environment(), random.Random(count), 0, 0, 0
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "yo"}]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "tokenizer.json").write_text(json.dumps({"model": {"type": "WordLevel", "vocab": {"u": 0}, "unk_token": "u"}}))
        (folder / "m.json").write_text(json.dumps(messages))
        for i in range(count):
            text = START + "".join(block(r, 2) for _ in range(r.randint(1, 4)))
            # `list | indent` of jinja2 fails and has then changed the list
            wanted = render(env, text, {"messages": copy.deepcopy(messages), "tools": None, "documents": None, "add_generation_prompt": True})
            (folder / "chat_template.jinja").write_text(text)
            p = subprocess.run([program, "tokenize", folder, "--messages", folder / "m.json", "--json"], capture_output=True, text=True)
            got = {"text": json.loads(p.stdout)["text"]} if p.returncode == 0 else {"error": p.stderr.strip()}
            unsupported = "not supported" in got.get("error", "") or "64 bits" in got.get("error", "") or "has no text" in got.get("error", "")
            refused += unsupported
            failed += "error" in wanted
            if unsupported or ("error" in wanted and "error" in got) or got == wanted or " at 0x" in str(wanted):
                continue
            different += 1
            print(json.dumps({"template": text[len(START):], "jinja2": wanted, "assay": got}, ensure_ascii=False))
    print(f"{count} templates, {different} different; jinja2 refuses {failed}, assay does not support {refused}")
    return different > 0


if __name__ == "__main__":
    sys.exit(fuzz(int(sys.argv[2]), sys.argv[3]) if sys.argv[1:2] == ["--fuzz"] else write())
