# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# conform: every case given counts; a refusal is a failure; a case with outputs that are not its own fails.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
cases=$SOURCE/tests/conform/cases
has_platform cpu || exit 77

code 0 "$ASSAY" conform "$cases/bert" "$cases/vit/" "$cases/qwen2"
has out '^ok +bert  max [0-9.e-]+, NMSE [0-9.e-]+'
has out '^ok +vit '
[ "$(tail -1 "$work/out")" = '3 passed, 0 failed' ] || fail "the last line is not '3 passed, 0 failed'"
empty err

# Cases that must fail: outputs of another case, an unknown type, a folder that is no case, one that is not there.
cp -r "$cases/bert" "$work/swapped" && cp "$cases/bert-relu/io.safetensors" "$work/swapped/"
cp -r "$cases/bert" "$work/unknown" && sed -i 's/"bert"/"perpetuum"/; s/BertForMaskedLM/PerpetuumModel/' "$work/unknown/config.json"
mkdir "$work/empty"
echo text >"$work/README.md"
code 1 "$ASSAY" conform "$work/README.md" "$work/empty"
has err 'no case: a case is a folder with config.json'
empty out
code 0 "$ASSAY" conform "$cases/bert" "$work/README.md"
has out '^1 passed, 0 failed$'
has err 'README.md is a file and no case: left out'
code 3 "$ASSAY" conform "$cases/bert" "$work/swapped" "$work/unknown" "$work/empty" "$work/none"
[ "$(tail -1 "$work/out")" = '1 passed, 4 failed' ] || fail "the last line is not '1 passed, 4 failed'"
has out '^FAIL swapped .*'
has out '^FAIL unknown .*perpetuum'
has out '^FAIL empty .*'
has out '^FAIL none .*'

# Keys of other architectures, which the class of a llama passes over.
cp -r "$cases/llama" "$work/others"
sed -i '1s/{/{"logit_scale": 3, "clip_qkv": 0.001, "sliding_window": 2, "layer_norm_eps": 1.0, "alibi": true, "scale_emb": 2, /' "$work/others/config.json"
code 0 "$ASSAY" conform "$work/others"
has out '^ok +others '
# The same of keys that no class of theirs reads: the answers are those without them.
for case in mpt bloom qwen2_moe deepseek_v2; do cp -r "$cases/$case" "$work/unread-$case"; done
sed -i 's/"logit_scale": null/"logit_scale": 0.3, "hidden_act": "relu"/' "$work/unread-mpt/config.json"
sed -i '1s/{/{"hidden_act": "relu", /' "$work/unread-bloom/config.json"
sed -i '1s/{/{"routed_scaling_factor": 3.0, /' "$work/unread-qwen2_moe/config.json"
sed -i 's/"norm_topk_prob": false/"norm_topk_prob": true/' "$work/unread-deepseek_v2/config.json"
grep -q '"norm_topk_prob": true' "$work/unread-deepseek_v2/config.json" || fail "deepseek_v2's case says nothing of norm_topk_prob"
grep -q '"logit_scale": 0.3' "$work/unread-mpt/config.json" || fail "mpt's case has another logit_scale"
code 0 "$ASSAY" conform "$work"/unread-*
has out '^4 passed, 0 failed$'

# A decoder whose head is not tied, without one in the file: its numbers would be made up.
cp -r "$cases/bart" "$work/headless"
sed -i 's/"tie_word_embeddings": true/"tie_word_embeddings": false/' "$work/headless/config.json"
code 2 "$ASSAY" conform "$work/headless"
has out 'lm_head.weight.* is missing'

code 3 "$ASSAY" conform --json "$cases/bert" "$work/swapped"
json '[x["verdict"] for x in d] == ["right", "wrong"]'
json '[x["passed"] for x in d] == [True, False] and d[0]["reason"] is None and d[1]["reason"]'
json 'd[0]["name"] == "bert" and d[0]["model_type"] == "bert" and 0 <= d[0]["max_abs_error"] < 1e-3 and d[0]["platform"] == "cpu"'
has err '^1 passed, 1 failed$'

# Nothing that ran was wrong: another verdict. What cannot be asked at all is bad use.
code 2 "$ASSAY" conform --json "$cases/bert" "$work/unknown" "$work/empty"
json '[x["verdict"] for x in d] == ["right", "unsupported", "failed"]'
code 1 "$ASSAY" conform --on perpetuum "$cases/bert"
code 1 "$ASSAY" conform
code 3 "$ASSAY" conform --on null "$cases/bert"
# Generated tokens that are not transformers', though the outputs are.
cp -r "$cases/qwen2" "$work/tokens"
python3 - "$work/tokens/gen.json" <<'PY'
import json, sys
gen = json.load(open(sys.argv[1]))
gen["runs"][0]["generated"][0][0] += 1
json.dump(gen, open(sys.argv[1], "w"))
PY
code 3 "$ASSAY" conform "$work/tokens"
has out 'transformers generates'
# Places that the class counts from arguments which only the notes tell: without them, of another number, in another order.
noted() # NOTES CODE PATTERN
{
	rm -rf "$work/film" && cp -r "$cases/diffusers-ltx-video" "$work/film"
	sed -i "s/\"notes\": .*/\"notes\": \"$1\"/" "$work/film/case.json"
	LC_ALL=C sed -i 's/in\.video_coords/no.video_coords/' "$work/film/io.safetensors"
	code "$2" "$ASSAY" conform "$work/film"
	has out "$3"
}
noted 'a film: width 4, height 3, num_frames 2' 0 '^ok +film '
noted 'num_frames 2, height 3' 2 '^FAIL film .*no tensor in.video_coords, .*"notes" of case.json has no width from 1 to 65536'
noted 'num_frames 2, height 3, max_width 4' 2 'has no width from'
noted 'num_frames 2, height 0, width 4' 2 'has no height from'
noted 'num_frames 2, height 4, width 4' 2 '2 frames of 4 by 4 are not the places of in.hidden_states'
noted 'num_frames 2, height 4, width 3' 3 '^FAIL film .*sample: '

# A platform that is not here fails every case, and each says why.
code 2 "$ASSAY" conform --on cuda "$cases/bert" "$cases/vit"
[ "$(tail -1 "$work/out")" = '0 passed, 2 failed' ] || fail "the last line is not '0 passed, 2 failed'"
has out '^FAIL bert  .{20}'
# An engine that dies at one case fails that case and goes on.
code 2 "$ASSAY" conform --on null:crash=run@1 "$cases/bert" "$cases/vit"
[ "$(tail -1 "$work/out")" = '0 passed, 2 failed' ] || fail "a crash stopped the run: $(tail -1 "$work/out")"

# An answer is written as it comes: while the next case hangs, the first stands there, and what ends the program takes nothing away.
for json in '' --json; do
	: >"$work/out" # what stood there names bert too, and the program may start after the first look
	# shellcheck disable=SC2086
	LD_PRELOAD=$BUILD/tests/attack_shim.so ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0 SHIM_HANG=cell:/vit/ \
		"$ASSAY" conform $json "$cases/bert" "$cases/vit" >"$work/out" 2>"$work/err" </dev/null &
	pid=$!
	for _ in $(seq 600); do
		grep -q bert "$work/out" && break
		sleep 0.1
	done
	kill -KILL $pid
	wait $pid 2>/dev/null
	grep -Eq '^(ok   bert|  "name": "bert",)' "$work/out" || fail "conform $json: no answer before the last: $(cat "$work/out" "$work/err")"
	lacks out vit
done
if has_platform openvino; then
	code 0 "$ASSAY" conform --on openvino "$cases/bert" "$cases/vit" "$cases/qwen2"
	[ "$(tail -1 "$work/out")" = '3 passed, 0 failed' ] || fail "openvino: $(tail -1 "$work/out")"
fi
finish
