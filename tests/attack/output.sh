# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Where results are written: pipes, devices, links to open files, and standard descriptors that are closed.
. "$SOURCE/tests/cli/lib.sh" || exit 1
. "$SOURCE/tests/attack/lib.sh" || exit 1
cd "$work" || exit 1
mkdir vit && echo '{"image_processor_type": "ViTImageProcessor", "size": {"height": 8, "width": 8}}' >vit/preprocessor_config.json
picture=$SOURCE/tests/conform/preprocess/files/plain.png
preprocess=("$ASSAY" preprocess vit "$picture" -o)
code 0 "${preprocess[@]}" file
run=("$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic --on null --runs 1 --no-conform --db)
code 0 "${run[@]}" rows.duckdb

# Its locks have its own rights, whatever the mask: members of a group took each other's runs for dead, and who could not read a private
# database held up its owner.
for mode in 600 660; do
	chmod $mode rows.duckdb
	(umask 022 && exec "${run[@]}" rows.duckdb) >out 2>err || fail "mode $mode: $(cat err)"
	[ "$(stat -c %a rows.duckdb.lock)" = $mode ] || fail "a database of mode $mode, and locks of mode $(stat -c %a rows.duckdb.lock)"
done
chmod 644 rows.duckdb
# Files that have that name, too, were written to and given other rights: of two names, of text, as disk images begin, and without bytes.
echo "of somebody 16" >somebody && { head -c 1024 /dev/zero && echo "of somebody"; } >image && : >empty
chmod 600 somebody image empty
for name in linked ${ASSAY_LONG:+somebody image} empty; do
	cp rows.duckdb $name.duckdb
	case $name in linked) ln somebody linked.duckdb.lock && other=somebody ;; *) cp -p $name $name.duckdb.lock && other=$name ;; esac
	"${run[@]}" $name.duckdb >out 2>err
	cmp -s $name.duckdb.lock $other && [ "$(stat -c %a $name.duckdb.lock)" = 600 ] || fail "$name: a file of another kind, beside the database, was changed"
done

# A file whose list gives somebody a right has that right as its group's bits: its group got it with what replaced the file. One whose list
# takes a right from somebody has it as all others' bits. And what is made of a model, or beside a database, in a folder whose list
# gives somebody rights, had them.
cat >lists.py <<'END'
import os, struct, sys
# ATTRIBUTE FILE OWNER 12345'S GROUP MASK OTHERS
owner, user, group, mask, others = (int(n) for n in sys.argv[3:])
entries = (1, owner, 0xffffffff), (2, user, 12345), (4, group, 0xffffffff), (16, mask, 0xffffffff), (32, others, 0xffffffff)
os.setxattr(sys.argv[2], "system.posix_acl_" + sys.argv[1], struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries))
END
cp file listed && chmod 600 listed
cp file denied && chmod 644 denied
if python3 lists.py access listed 6 4 0 4 0 2>/dev/null && python3 lists.py access denied 6 0 4 4 4; then
	[ "$(stat -c %a listed)" = 640 ] || fail "a list of mode $(stat -c %a listed)"
	[ "$(stat -c %a denied)" = 644 ] || fail "a list of mode $(stat -c %a denied)"
	for name in listed denied; do
		code 0 "${preprocess[@]}" $name
		[ "$(stat -c %a $name)" = 600 ] || fail "what replaced the file $name, which had a list, has mode $(stat -c %a $name)"
	done
	mkdir -m 0755 given
	"$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o private >/dev/null && cp rows.duckdb given || fail "no model, or no database"
	chmod 640 private/* given/rows.duckdb
	python3 lists.py default given 7 7 5 7 5
	code 0 "$ASSAY" build private -o given/built
	SHIM_STOP=/given/rows.duckdb:0:2:0 LD_PRELOAD=$BUILD/tests/attack_shim.so "${run[@]}" given/rows.duckdb >out 2>err && fail "nobody stopped it"
	for name in built/model.onnx built/model.safetensors rows.duckdb.lock rows.duckdb.journal; do
		mode=$(stat -c %a given/$name)
		[ $((0$mode & 037)) = 0 ] || fail "given/$name of what only its group may read has mode $mode"
		python3 -c 'import os, sys; sys.exit("system.posix_acl_access" in os.listxattr(sys.argv[1]))' given/$name || fail "given/$name has the folder's list"
	done
else
	skip_part "no access control lists on this file system, or no Python"
fi

# Weights that take the place of private ones were everybody's; so were a graph and weights beside a private config.json.
private()
{
	local name
	for name; do
		[ "$(stat -c %a "$name")" = 600 ] || fail "$name has mode $(stat -c %a "$name"), and what it takes the place of, or is made of, 600"
	done
}
"$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o open >/dev/null && "$ASSAY" build open -o again >/dev/null || fail "no graph"
chmod 644 open/* && chmod 600 again/*
code 0 "$ASSAY" build open -o again
private again/model.onnx again/model.safetensors
chmod 600 open/config.json
code 0 "$ASSAY" build open -o of_private
private of_private/model.onnx of_private/model.safetensors
chmod 600 open/*
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o open
private open/model.safetensors

# What is made in a folder with the setgid bit has that folder's group.
mkdir -m 2775 lab
if chgrp 12345 lab 2>/dev/null && chmod 2775 lab && [ -g lab ]; then
	chmod 640 private/* && cp rows.duckdb lab/ && chgrp "$(id -g)" lab/rows.duckdb && chmod 640 lab/rows.duckdb
	code 0 "$ASSAY" build private -o lab/built
	SHIM_STOP=/lab/rows.duckdb:0:2:0 LD_PRELOAD=$BUILD/tests/attack_shim.so "${run[@]}" lab/rows.duckdb >out 2>err && fail "nobody stopped it"
	for name in built/model.onnx built/model.safetensors rows.duckdb.journal; do
		[ "$(stat -c '%a %g' lab/$name)" = '600 12345' ] || fail "lab/$name of what only its own group may read: $(stat -c '%a %g' lab/$name)"
	done
else
	skip_part "only the super-user can give a folder to another group"
fi

# A FIFO was replaced by a file, as was every device; of a report it was waited for without end.
mkfifo fifo
bounded 1 5 200 "${preprocess[@]}" fifo
has err 'fifo: a pipe that nobody reads'
bounded 1 5 400 "$ASSAY" report --db rows.duckdb -o fifo
has err 'fifo: a pipe that nobody reads'
[ -p fifo ] || fail "the FIFO is gone"
cat fifo >read &
sleep 0.2
code 0 "${preprocess[@]}" fifo
wait $!
cmp -s file read || fail "what a FIFO's reader got is not what a file has"
# What /dev/stdout is; the program of the super-user made a file of it.
ln -s /proc/self/fd/1 stdout
"${preprocess[@]}" stdout >both 2>err || fail "into a link to standard output: $(cat err)"
[ -L stdout ] || fail "the link to standard output is gone"
"${preprocess[@]}" stdout 2>err | head -c "$(wc -c <file)" | cmp -s file - || fail "what a pipe got is not what a file has"
if mknod full c 1 7 2>/dev/null && [ -w full ]; then
	code 1 "${preprocess[@]}" full
	has err 'full: No space left on device'
	[ -c full ] || fail "the device is gone"
else
	skip_part "devices cannot be made here"
fi

# What another user put where all may write was followed, unless the kernel forbids it: a folder, a pipe, and the name beside an
# export that DuckDB wrote first.
if can_be 65534; then
	chmod 0711 "$work"
	mkdir -m 1777 shared && mkdir mine
	become 65534 ln -s "$work/mine" shared/theirs
	become 65534 mkfifo shared/pipe
	code 1 "${preprocess[@]}" shared/theirs/file
	has err 'shared/theirs: a link that another user made; name what it leads to$'
	code 1 "$ASSAY" export -o shared/theirs/tables --db rows.duckdb
	code 1 "$ASSAY" export -o shared/theirs/rows.csv result --db rows.duckdb
	code 1 "${run[@]}" shared/theirs/rows.duckdb
	# A database's own name, one's own link that leads on through another's, and a folder where all may write without the sticky bit.
	become 65534 ln -s "$work/rows.duckdb" shared/named.duckdb
	code 1 "${run[@]}" shared/named.duckdb
	has err 'shared/named.duckdb: a link that another user made; name what it leads to$'
	ln -s shared/theirs/file leads && ln -s shared/theirs/rows.duckdb leads.duckdb
	code 1 "${preprocess[@]}" leads
	has err 'shared/theirs: a link that another user made'
	code 1 "${run[@]}" leads.duckdb
	mkdir -m 0777 open_to_all && chmod 0777 open_to_all
	become 65534 ln -s "$work/mine" open_to_all/theirs
	become 65534 mkfifo open_to_all/pipe
	code 1 "${preprocess[@]}" open_to_all/theirs/file
	code 1 "$ASSAY" build open -o open_to_all/theirs/built
	code 1 "$ASSAY" build open -o open_to_all/theirs
	code 1 "${run[@]}" open_to_all/theirs/rows.duckdb
	code 1 "${preprocess[@]}" open_to_all/pipe
	has err 'open_to_all/pipe: a pipe that another user made'
	ln -s shared/pipe to_pipe
	code 1 "${preprocess[@]}" to_pipe
	has err 'to_pipe: a pipe that another user made'
	[ -z "$(ls mine)" ] || fail "another user's link was followed: $(ls mine)"
	setpriv --reuid=65534 --regid=65534 --clear-groups cat shared/pipe >read 2>/dev/null &
	code 1 "${preprocess[@]}" shared/pipe
	has err 'shared/pipe: a pipe that another user made; name a file$'
	kill $! && wait $!
	[ -s read ] && fail "another user read it from his pipe"
	code 0 "$ASSAY" export -o shared/rows.csv result --db rows.duckdb
	become 65534 ln -s "$work/mine/victim" shared/tmp_rows.csv
	code 0 "$ASSAY" export -o shared/rows.csv result --db rows.duckdb
	[ -e mine/victim ] && fail "an export was written to where another user's link leads"
	# Weights went into the file that lay under the name of those under construction, and stayed another user's.
	become 65534 sh -c 'umask 0; echo >shared/.model.safetensors.partial'
	code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o shared
	[ -O shared/model.safetensors ] || fail "the weights belong to another user"
	# What a killed build of weights for everybody had left was open to who then read those of a build of private ones.
	mkdir -m 0755 public && "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o private >out || fail "synth: $(cat out)"
	chmod 0600 private/*
	echo left >public/.model.safetensors.partial
	chmod 0644 public/.model.safetensors.partial
	become 65534 sh -c 'exec 3<public/.model.safetensors.partial; echo >&2; read -r _; cat <&3' >others 2>opened < <(until [ -e built ]; do sleep 0.05; done; echo) &
	reader=$!
	until [ -s opened ]; do sleep 0.02; done
	code 0 "$ASSAY" build private -o public
	touch built && wait $reader
	[ "$(stat -c %a public/model.safetensors)" = 600 ] || fail "private weights became readable"
	[ "$(cat others)" = left ] || fail "another user reads $(wc -c <others) bytes of private weights"
fi
# What was written of an export that is interrupted stayed beside its place, another one each time.
mkdir stopped
for how in ${ASSAY_LONG:+stopped/all.parquet} '-o stopped' '-o - result'; do
	# shellcheck disable=SC2086
	SHIM_INTERRUPT=export:.tmp TMPDIR=$work/stopped LD_PRELOAD=$BUILD/tests/attack_shim.so code 1 "$ASSAY" export $how --db rows.duckdb
	has err '^assay: stopped before it was done$'
	[ -z "$(ls stopped)" ] || fail "an interrupted export leaves $(ls stopped)"
done
# One that waits for a database in use ends, too.
python3 -c 'import fcntl, time; f = open("rows.duckdb", "r+b"); fcntl.lockf(f, fcntl.LOCK_EX); open("locked", "w"); time.sleep(60)' &
holder=$!
until [ -e locked ]; do sleep 0.02; done
bounded 1 2 200 timeout --preserve-status -s INT -k 20 0.5 "$ASSAY" export stopped/all.parquet --db rows.duckdb
has err '^assay: stopped while rows.duckdb was held by another program'
kill $holder && wait $holder
# A report in the place of the database that it is made of was written, and the rows were gone.
for name in rows.duckdb ./rows.duckdb; do
	code 1 "$ASSAY" report --db rows.duckdb --format md -o $name
	has err 'rows.duckdb is the database$'
done
before=$(sha256sum <rows.duckdb)
code 1 "$ASSAY" export --db rows.duckdb --format csv -o rows.duckdb result
has err 'rows.duckdb is the database$'
[ "$(sha256sum <rows.duckdb)" = "$before" ] || fail "an export was written over its database"
cp "$SOURCE/tests/conform/pipeline/image-segmentation-segformer/input0.png" own.png
code 1 "$ASSAY" preprocess "$SOURCE/tests/conform/pipeline/image-segmentation-segformer" own.png -o own.png
has err '-o own.png is what it would be made from$'
# A link to a database in another folder is the database.
mkdir there
cp rows.duckdb there/rows.duckdb
ln -s there/rows.duckdb link.duckdb
code 0 "${run[@]}" link.duckdb
code 0 "$ASSAY" query --format csv --db link.duckdb 'SELECT count(*) FROM cell'
has out '^4$'
ln -s none.duckdb nothing.duckdb
code 1 "${run[@]}" nothing.duckdb
has err 'nothing.duckdb is a link, and what it names is not there$'

# A closed standard output: the object was written into the cache's file of claims, and that was a success.
"${run[@]}" rows.duckdb --json >&- 2>err && fail "what could not be printed is a success"
has err 'standard output cannot be written'
"${run[@]}" closed.duckdb <&- >&- 2>&-
code 0 "$ASSAY" query --format csv --db closed.duckdb 'SELECT count(*) FROM cell'
has out '^1$'
finish
