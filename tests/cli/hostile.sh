# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Names, files and rows from a stranger: no command lets a control character of theirs reach the terminal or a report. What is looked
# for is every byte of output: valid UTF-8, no C0 but newline and tab, no DEL, no C1, nothing of bidirectional text, and no line that
# begins as a name wanted it to (but within the quotes of CSV and in HTML, where a line end is part of a value).
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
cd "$work" || exit 1

# ESC, BEL, CSI as one C1 character, OSC 52 (the clipboard), carriage return, line feed, an override of direction, line separator; then
# what Markdown, HTML, XML and YAML give a meaning to.
evil=$'e\e[31m\a\xc2\x9b2J\e]52;c;aGk=\a\r\nFORGED right\t\x7f\xe2\x80\xae\xe2\x80\xa8|`<b>&"\'](x):'
broken=$'b\xff\xc3\e[2J'
ran=" "

# clean WORDS...: runs `assay WORDS`, whatever its exit code below 4, and looks at all that it printed.
clean()
{
	local status=0
	case $ran in *" $1 "*) ;; *) ran="$ran$1 " ;; esac
	"$ASSAY" "$@" >out 2>err </dev/null || status=$?
	[ "$status" -le 3 ] || [ "$1" = cell ] || fail "exit code $status: assay ${*@Q}"
	case " $* " in
	*" csv "*|*" html "*) mv out out.csv; look out.csv err || fail "    of assay ${*@Q}" ;;
	*) look out err || fail "    of assay ${*@Q}" ;;
	esac
}

# look FILE...: at all of them, by one interpreter, which ends with the script: to start one takes longer than what it is asked.
mkfifo look.ask look.answer || exit 1
python3 - $$ <<'PY' &
import os, re, signal, sys
def ends_with_the_script(*_):
    if not os.path.isdir("/proc/" + sys.argv[1]):
        os._exit(0)
signal.signal(signal.SIGALRM, ends_with_the_script)
signal.setitimer(signal.ITIMER_REAL, 1, 1)
def look(path):
    lines = path.endswith((".csv", ".html"))
    data = open(path, "rb").read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as e:
        return f"    {path}: not UTF-8: {data[max(0, e.start - 40):e.end + 10]!r}\n"
    forged = "" if lines else "|^FORGED"
    found = re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]" + forged, text, re.M)
    return f"    {path}: {text[max(0, found.start() - 60):found.end() + 20]!r}\n" if found else ""
while True:
    with open("look.ask") as f:
        paths = f.read().split()
    try:
        answer = "".join(map(look, paths)) or "clean"
    except BaseException as e:
        answer = f"    {e!r}\n"
    with open("look.answer", "w") as f:
        f.write(answer)
PY
look()
{
	local answer
	echo "$*" >look.ask
	answer=$(<look.answer)
	[ "$answer" = clean ] && return
	echo "$answer"
	return 1
}

cp -r "$SOURCE/tests/conform/cases/bert" "$evil"
cp -r "$SOURCE/tests/conform/cases/bert" "$broken"
mkdir "strange $evil"
python3 - "strange $evil/config.json" "$evil" <<'PY'
import json, os, sys
evil = os.fsencode(sys.argv[2]).decode()
json.dump({"model_type": evil, "architectures": [evil], "hidden_act": evil, evil: evil}, open(sys.argv[1], "w"))
json.dump({"image_processor_type": evil, evil: evil}, open(os.path.dirname(sys.argv[1]) + "/preprocessor_config.json", "w"))
PY
sed 's/"gelu"/"ge\\u001b[31m\\nFORGED\\u202e"/' "$SOURCE/tests/conform/cases/bert/config.json" >act.json
mkdir act && cp act.json act/config.json
printf 'this is\e[31m no JSON' >torn.json && mkdir torn && cp torn.json torn/config.json

for name in "$evil" "$broken" "strange $evil" act torn "no such $evil"; do
	clean inspect "$name"
	clean inspect "$name" --json
	clean tokenize "$name" "$evil"
	clean preprocess "$name" "$evil"
	clean run "$name" --on null:clock=told --synthetic --runs 3 --no-conform
done
for name in "$evil" "$broken"; do
	clean run "$name" --on null:clock=told --synthetic --runs 3 --no-conform --json
	clean build "$name" -o "built $name"
	clean synth "$name" -o "synth $name"
	clean conform "$name" --on null
	clean fetch "$name" --dry-run
	clean recommend "$name"
	clean history "$name"
done
# A name that is no UTF-8 is not left out of JSON: its bad bytes are escapes.
named() { "$ASSAY" "$@" --json 2>err | python3 -c 'import json, sys; d = json.load(sys.stdin); d = d[0] if isinstance(d, list) else d; sys.exit("b\\xff\\xc3" not in str(d.get("model") or d.get("name")))' || fail "no name in the JSON of $1"; }
named inspect "$broken"
named conform "$broken" --on null
named run "$broken" --on null:clock=told --synthetic --runs 3 --no-conform
ASSAY_NULL="cpu:crash=run@1 cuda:fail=open" clean run "$evil" --on cuda,cpu --fallback --synthetic --no-conform
clean build "$evil" -o text --text
clean pipeline "$evil" "$evil" --task "$evil" --option "$evil"
clean profile "$evil" --on cpu --synthetic --runs 3 -o flame.html
[ -s flame.html ] || { cat out err; fail "no flame graph"; }
clean matrix --models "$evil" "strange $evil" --on null:clock=told --synthetic --runs 3 --no-conform --output-dir "matrix $evil"
clean ab "$evil" --on null:clock=told --synthetic --rapid --a threads=1 --b threads=2
for words in detect doctor setup platforms types completion; do clean "$words" "$evil"; clean "$words" "$broken"; done
clean "$evil"
clean run "$evil" --on "$evil"
clean run "$evil" "--$evil" 1
clean run act --on "null:$evil=$evil"

# Results of other tools, whose names are theirs.
printf 'build_commit,build_number,cpu_info,gpu_info,backends,model_filename,model_type,model_size,model_n_params,n_batch,n_ubatch,n_threads,type_k,type_v,n_gpu_layers,n_prompt,n_gen,n_depth,test_time,avg_ns,stddev_ns,avg_ts,stddev_ts\n' >"$evil.csv"
python3 - "$evil.csv" "$evil" <<'PY'
import os, sys
evil = '"' + os.fsencode(sys.argv[2]).decode().replace('"', '""') + '"'
open(sys.argv[1], "a").write(f'{evil},{evil},{evil},{evil},{evil},{evil},{evil},"6","1","2048","512","4","f16","f16","0","512","0","0","2026-01-02T03:04:05Z","2000000000","100000000","256.0","1.0"\n')
PY
clean import "$evil.csv"
clean import "$evil.csv" "$broken" torn.json "no such $evil"

# A database that a stranger wrote: every text of every row.
"$ASSAY" run "$SOURCE/tests/conform/cases/bert" --on cpu,null:leave=Gemm --synthetic --runs 3 --no-conform >/dev/null 2>&1
python3 - "$SOURCE/.deps/engines" "$ASSAY_DB" "$evil" <<'PY'
import ctypes, glob, os, sys
library = glob.glob(sys.argv[1] + "/**/libduckdb.so", recursive=True)[0]
duck, db, connection = ctypes.CDLL(library), ctypes.c_void_p(), ctypes.c_void_p()
assert duck.duckdb_open(sys.argv[2].encode(), ctypes.byref(db)) == 0
assert duck.duckdb_connect(db, ctypes.byref(connection)) == 0
evil = os.fsencode(sys.argv[3]).decode().replace("'", "''")
texts = """model cause worst bound device device_description engine_version placement_note hint raw_error fallback_reason form form_why output_shape options
	memory_sampling stability_why warmup_end stderr_tail compute_dtype placed_by type_conformance reference revision model_type""".split()
changed = 0
for c in texts:
    changed += duck.duckdb_query(connection, f"UPDATE measurement SET {c} = coalesce({c}, '') || '{evil}'".encode(), None) == 0
assert changed > len(texts) // 2, changed
for table, c in (("run", "command"), ("node", "node"), ("node", "op"), ("node", "reason"), ("node", "place"), ("placement", "reason"), ("machine", "cpu_model"), ("machine", "kernel")):
    changed += duck.duckdb_query(connection, f"UPDATE {table} SET {c} = '{evil}'".encode(), None) == 0
duck.duckdb_disconnect(ctypes.byref(connection))
duck.duckdb_close(ctypes.byref(db))
PY
[ $? = 0 ] || fail "the database could not be changed"
rows=$("$ASSAY" query --format csv 'SELECT max(id) FROM result' | tail -1)
for row in 1 "$rows"; do
	clean explain "$row"
	clean explain "$row" --json
	clean reproduce "$row" --command
	clean profile --row "$row"
done
clean reproduce "$rows"
clean compare "row:1..$((rows / 2))" "row:$((rows / 2 + 1))..$rows"
clean compare run:1 run:2
for format in md json; do clean compare run:1 run:2 --format "$format"; done
for format in table csv json md; do
	clean query --format "$format" 'SELECT * FROM result'
	clean query --format "$format" "SELECT chr(27) || '[31m' || chr(10) || 'FORGED' || chr(155) || chr(8238) AS \"a$evil\", 1 AS \"|\""
	clean query --format "$format" failures
done
clean query "SELECT $evil"
clean query "$evil"
for format in md html json yaml junit matrix matrix-yaml; do
	clean report --format "$format"
	cp "$([ "$format" = html ] && echo out.csv || echo out)" "report.$format"
done
look report.* flame.html || fail "a report"
python3 - <<'PY' || fail "a report does not parse"
import json, xml.dom.minidom
xml.dom.minidom.parse("report.junit")
json.load(open("report.json"))
for line in open("report.md"):
    if line.startswith("|"):
        assert "<b>" not in line, line
PY
clean export -o "$evil.csv" --format csv result
clean export -o "no/$evil/$evil" "$evil"
clean cache
clean cache --db "$evil"
ASSAY_CACHE="$work/$evil" clean cache
clean report --db torn.json
clean query --db "$evil" fastest
clean models
clean verify --on "$evil" --task "$evil"
ASSAY_SHARE="$work/$evil" clean verify --on null --db "$evil"
clean cell --probe "$evil"
clean cell --driver "$evil"

for name in $("$ASSAY" --help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | grep -v '^assay$') cell; do
	case $ran in *" $name "*) ;; *) fail "the command $name was not asked" ;; esac
done
finish
