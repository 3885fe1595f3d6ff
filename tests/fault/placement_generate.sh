# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Generation asks of each of its graphs where the nodes ran, and claims no platform that took none of them. On the null engine.
. "$SOURCE/tests/fault/lib.sh"

# sql QUERY WANTED: one value of the database.
sql()
{
	local got
	got=$("$ASSAY" query --format csv "$1" | tail -n 1)
	[ "$got" = "$2" ] || fail "$1 gives '$got', not '$2'"
}

# With a vocabulary of a multiple of 17 the null engine's tokens do not depend on a cache.
# nodes: of the row; op_mix has smaller numbers under the same key.
nodes() { all nodes | sort -n | tail -n 1; }
for of in llama t5; do
	mkdir "$work/$of"
	sed 's/"vocab_size": [0-9]*/"vocab_size": 102/' "$SOURCE/tests/conform/cases/$of/config.json" >"$work/$of/config.json"
	generate() { local wanted=$1; shift; code "$wanted" "$ASSAY" run "$work/$of" --synthetic --no-conform --json --task generate --prompt-tokens 4 --new-tokens 3 --runs 1 "$@"; }
	generate 0 --on null
	is verdict right
	is nodes_elsewhere 0
	[ "$(all nodes_on_platform)" = "$(nodes)" ] || fail "$of: $(all nodes_on_platform) of $(nodes) nodes on the platform"
	generate 0 --on null:leave=Softmax
	is verdict right
	is actual null
	says nodes_elsewhere '^[1-9]'
	generate 2 --on null:leave=all
	is verdict fell_back
	is actual cpu
	is nodes_on_platform 0
	says cause '^null took none of the graph: [0-9]+ nodes are on cpu'
	[ "$(all nodes_elsewhere)" = "$(nodes)" ] || fail "$of: $(all nodes_elsewhere) of $(nodes) nodes elsewhere"
	generate 0 --on null:leave=all,keeps_quiet=on
	is nodes_on_platform null
	generate 0 --on null:leave=all --allow-fallback
	is verdict right
	is actual cpu
done
sql "SELECT count(DISTINCT split_part(node, '/', 1)) FROM placement p JOIN result r ON r.id = p.cell WHERE r.model LIKE '%/t5' AND node LIKE '%.onnx/%'" 3
echo good
