# SPDX-License-Identifier: Apache-2.0
# Sourced with $browser (chromium or firefox) and $providers ("wasm webgpu"): conformance cases judged by their golden outputs, then a
# cell whose row says what ran.
: "${browser:?}" "${providers:?}"
kind=$browser
. "$SOURCE/tests/browser/lib.sh"
cases="bert vit t5 qwen2"

# A chat with a model of 4 bits: the page answers as cpu does.
chat()
{
	local folder=$SOURCE/tests/conform/pipeline/text-generation-qwen2-moe-chat on
	code 0 "$ASSAY" synth "$folder" -o "$work/chat"
	cp "$folder"/tokenizer*.json "$folder/special_tokens_map.json" "$folder/generation_config.json" "$work/chat"
	for on in cpu "webgpu:$kind"; do
		code 0 "$ASSAY" pipeline --no-db --no-reference "$work/chat" '{"messages": [{"role": "user", "content": "hello there"}]}' --option max_new_tokens=6 \
			--precision int4-weights --on "$on" --json
		grep -q '"form": .* int4-weights ' "$work/out" || fail "chat on $on: not in 4 bits"
		grep '"content": ' "$work/out" >"$work/chat.$on"
		[ "$(wc -l <"$work/chat.$on")" = 3 ] || fail "chat on $on: no answer"
	done
	diff "$work/chat.cpu" "$work/chat.webgpu:$kind" || fail "$kind answers otherwise than cpu"
}

# ONNX Runtime's own mark at byte 4, where a user of the file's protobuf sees its producer: it ran as that format.
marked()
{
	printf '%b' '\x08\x09\x12\x04ORTM\x3a\x36\x0a\x0f\x0a\x01x\x12\x01y\x1a\x01r\x22\x04Relu\x12\x01g\x5a\x0f\x0a\x01x\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x03' \
		'\x62\x0f\x0a\x01y\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x03\x42\x04\x0a\x00\x10\x11' >"$work/marked.onnx"
	code 0 "$ASSAY" run "$work/marked.onnx" --on "$1" --runs 1 --no-conform --json
	is nodes 1
}

# A node without a name between two that the adapter takes, which has no Det: no log tells it from one that was folded, but in the
# copy that the browser gets it has a name.
unnamed()
{
	printf '%b' '\x08\x08\x3a\x5e\x0a\x0f\x0a\x01x\x12\x01a\x1a\x01r\x22\x04Relu\x0a\x0b\x0a\x01a\x12\x01b\x22\x03Det\x0a\x11\x0a\x01b\x0a\x01b\x12\x01c\x1a\x01a\x22\x03Add' \
		'\x12\x01g\x5a\x17\x0a\x01x\x12\x12\x0a\x10\x08\x01\x12\x0c\x0a\x02\x08\x02\x0a\x02\x08\x03\x0a\x02\x08\x03\x62\x0f\x0a\x01c\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x02' \
		'\x42\x04\x0a\x00\x10\x11' >"$work/unnamed.onnx"
	code 2 "$ASSAY" run "$work/unnamed.onnx" --on "$1" --no-fallback --runs 1 --no-conform --json
	is verdict unsupported
	is nodes_on_platform 2
	is nodes_elsewhere 1
	says cause '1 of 3 nodes are left to CPUExecutionProvider; the first: Det, node without a name'
}
ran=
for provider in $providers; do
	status=0
	(needs "$provider" "$kind") || status=$?
	if [ "$status" = "$lacks" ]; then        # that is what a row must say then
		code 2 "$ASSAY" run "$model" --on "$provider:$kind" --runs 2 --json
		is verdict unavailable
		says cause "$kind|browser"
		ran="$ran $provider (has none)"
		continue
	fi
	[ "$status" != 77 ] || { skip_part "$kind with $provider"; continue; }
	[ "$status" = 0 ] || exit 1
	ran="$ran $provider"
	on=$provider
	[ "$provider" != wasm ] || on=cpu
	paths=
	for c in $cases; do
		paths="$paths $SOURCE/tests/conform/cases/$c"
	done
	# shellcheck disable=SC2086
	"$ASSAY" conform --on "$on:$kind" $paths >"$work/out" 2>"$work/err" || fail "$on:$kind: not every case passes"
	grep -q "^$(echo "$cases" | wc -w) passed, 0 failed$" "$work/out" || fail "$on:$kind: not every case was counted"
	# How all cases of the type do is asked in one browser, once: they take longer than all else here.
	if [ "$on:$kind" = cpu:chromium ] || [ -n "${ASSAY_LONG-}" ]; then
		code 0 "$ASSAY" run "$model" --on "$on:$kind" --runs 2 --json
		says type_conformance '^([1-9][0-9]*)/\1$'
	else
		code 0 "$ASSAY" run "$model" --on "$on:$kind" --runs 2 --no-conform --json
	fi
	is verdict right
	is engine browser
	is device "$kind"
	is placed_by parts
	says browser '[0-9]+\.[0-9]+'
	grep -Eq '"isolated": true' "$work/out" || fail "the page is not isolated"
	grep -Eq '"create_ms": [0-9.]+' "$work/out" || fail "no time of making the session"
	case $provider in
	wasm) is emulated false; is nodes_elsewhere 0; marked "$on:$kind" ;;
	webnn) is emulated true; is nodes_elsewhere 0 ;;
	webgpu)                                  # the Cast of int64 is not its: the row says so
		grep -Eq '"nodes_on_platform": [1-9][0-9]' "$work/out" || fail "not on the adapter"
		grep -Eq '"nodes_elsewhere": (0|1),' "$work/out" || fail "more than one node ran elsewhere"
		grep -q '"nodes_elsewhere": 0,' "$work/out" || grep -q '"op": "Cast"' "$work/out" || fail "what ran elsewhere is not named"
		grep -q '"maxBufferSize": [0-9]' "$work/out" || fail "the row has no limits of the adapter"
		# The row must call a software adapter one.
		if grep -q '"isFallbackAdapter": true' "$work/out"; then
			is emulated true
		fi
		[ "$kind" != chromium ] || chat ;;
	esac
	[ "$provider" = wasm ] || [ "$kind" != chromium ] || unnamed "$on:$kind"
	nothing_left '*'
done
[ "$skipped_parts" = 0 ] || exit 77
echo "$kind:$ran: $cases"
