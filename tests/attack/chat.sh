# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# A stranger's chat template is a program. Each of these took minutes or for ever, within its steps and its memory: what a step cost had no
# bound. Templates that are refused for what they say, and sums that leave 64 bits: tests/unit/test_chat.c, with the sanitizers.
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/attack/lib.sh" || exit 1
need_python
cd "$work" || exit 1
mkdir m
echo '{"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}' >m/tokenizer.json
echo '{"model_type": "bert"}' >m/config.json
python3 - <<'PY' || exit 1
import os
# 150 of an expression without a result in each pass of a loop: hardly a step of their own, and no memory.
def many(begin, expression, word="or"):
    return begin + "{% for i in range(1000) %}{% if " + f" {word} ".join([expression] * 150) + " %}{% endif %}{% endfor %}"
text, other, ones = "{% set a = 'a' * 1000000 %}", "{% set b = 'a' * 500000 + 'b' %}", "{% set l = [1] * 400000 %}"
templates = {
    # The text was looked for at each place, byte after byte: 10^11 of them.
    "find": many(text + other, "b in a"), "count": many(text + other, "a.count(b)"),
    # Beyond the last step the loop went on: 10^13.
    "strip": "{% set a = 'a' * 10000000 %}{% set b = 'b' * 1000000 + 'a' %}{{ a.strip(b) }}",
    # Texts and lists that are gone through for one step.
    "isalpha": many(text, "not a.isalpha()"), "lower": many(text, "a is not lower"), "ends": many(text, "not a.endswith(a)"),
    "min": many("{% set l = [0] * 400000 %}", "l | min"), "reject": many(ones, "l | reject | first"), "unique": many(ones, "not l | unique | first"),
    # Keys, names and paths that are long or many.
    "hash": "{% set n = namespace(a=(1,)) %}{% for i in range(60) %}{% set n.a = (n.a, n.a) %}{% endfor %}{{ {n.a: 1} }}",
    "variables": "{% for i in range(1000) %}" + "".join("{%% set a%d=1 %%}" % i for i in range(13000)) + "{% endfor %}",
    "name": "{% set " + "a" * 120000 + "b = 1 %}{% for i in range(1000) %}{% for j in range(1000) %}{% if " + "a" * 120000 + "c %}{% endif %}{% endfor %}{% endfor %}",
    # The shortest text of a number is searched for: 7 us each.
    "floats": "{% set l = [1.2345678901234567e-300] * 300000 %}{{ l | string | length }}",
}
for name, template in templates.items():
    open(name + ".jinja", "w").write(template)
PY
[ -n "${ASSAY_LONG:-}" ] || rm count.jinja lower.jinja ends.jinja min.jinja unique.jinja floats.jinja # of the kinds of the others
for template in *.jinja; do
	cp "$template" m/chat_template.jinja
	bounded 1 2 100 "$ASSAY" tokenize m --chat 'user: hi'
	has err 'the template takes more than 20 million steps'
done
# What it makes is tokenized: 7 s and 1.3 GB, 3.5 s and 0.6 GB. A long conversation may be as long as it is.
for template in "{{ ('a'*1000000)|replace('','b'*10) }}" "{{ 'a b '*2000000 }}"; do
	echo "$template" >m/chat_template.jinja
	bounded 1 1 100 "$ASSAY" tokenize m --chat 'user: hi'
	has err 'chat_template.jinja: the template makes a text of [0-9]* bytes of a conversation of [0-9]*: no template in use does'
done
echo '{{ messages[0].content * 2 }}' >m/chat_template.jinja
python3 -c 'import json; json.dump([{"role": "user", "content": "a" * 300000}], open("long.json", "w"))'
bounded 0 1 150 "$ASSAY" tokenize m --messages long.json
# The same in a size that a template may have.
echo "{% set a = 'ab' * 1000 %}{{ 'ba' in a }}{{ a.count('b') }}{{ (a | list | min) ~ a.isalpha() ~ a.strip('a')[0] }}" >m/chat_template.jinja
bounded 0 1 100 "$ASSAY" tokenize m --chat 'user: hi'
has out '^True1000aTrueb$'
finish
