# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# types: the table with what passes here; the answer is kept, and made anew when a case changes.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform cpu || exit 77
# A few cases are enough to see what the command does; tests/conform/ runs them all.
mkdir -p "$work/share/conform/cases"
for name in bert bert-relu vit; do
	cp -r "$SOURCE/tests/conform/cases/$name" "$work/share/conform/cases/"
done
export ASSAY_SHARE=$work/share

code 0 "$ASSAY" types
has err '^assay: 3 cases to run on cpu; the answer is kept$'
has out '^bert  +encoder  +2/2 +masked-lm$'
has out '^vit  +vit  +1/1 +image-classification$'
has out '^gemma  +decoder  +0/0 *$'
has out 'all cases of 2 pass on cpu$'

code 0 "$ASSAY" types --json
json '[(x["cases"], x["cases_passed"], x["heads"]) for x in d if x["type"] == "bert"] == [(2, 2, ["masked-lm"])]'
lacks err 'to run on' # nothing is run again
json 'len(d) == len({x["type"] for x in d}) and all(x["family"] and x["dialect"] for x in d)'

# A case that is not the one that assay ships any more certifies nothing, though the answer of before is kept.
cp "$SOURCE/tests/conform/cases/bert/io.safetensors" "$work/share/conform/cases/bert-relu/"
code 0 "$ASSAY" types --json
json '[(x["cases"], x["cases_passed"], x["failed"]) for x in d if x["type"] == "bert"] == [(1, 1, [])]'

code 0 "$ASSAY" types --markdown
has out '^\| vit +\| vit +\| +1/1 +\| image-classification \|$'

code 1 "$ASSAY" types --json --markdown
has err 'exclude each other'
code 1 "$ASSAY" types --on cuda
has err 'cuda'
finish
