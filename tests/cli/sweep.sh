# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# Axes as lists: the product, where a sweep over batches ends, the same end after --resume, crossovers, threads, sizes of images.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert"
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/vit" -o "$work/vit"
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/resnet" -o "$work/resnet"
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/clip" -o "$work/clip"
quick="--runs 11 --no-conform"

# The product: one object a cell, the batches from small to large, doubles once.
code 0 "$ASSAY" run "$work/bert" --on null:clock=told,item_ms=1 --batch 2,1,2 --seq 16 --seq 8 --threads 1,2 --no-sweep-stop --runs 3 --no-conform --json
json '[(x["threads"], x["sequence"], x["batch"]) for x in d] == [(t, s, b) for t in (1, 2) for s in (16, 8) for b in (1, 2)]'
json 'len(set(x["cell_key"] for x in d)) == 8'
code 1 "$ASSAY" run "$work/bert" --batch 1,x
has err "^assay: --batch wants a whole number from 1 to 65536, not 'x'$"
code 1 "$ASSAY" run "$work/bert" --batch 1,,2
code 1 "$ASSAY" ab "$work/bert" --on cpu --batch 1,2
has err 'takes one value here'

# 3 ms a run and 1 an item: 0.25, 0.40, 0.57, 0.73, 0.84, 0.91, 0.96 items a ms. The gain falls below 5 % at 64.
sweep="$work/bert --on null:clock=told,sleep_ms=3,item_ms=1 --batch 1,2,4,8,16,32,64,128,256 --seq 4 $quick --db $work/s.db"
code 0 "$ASSAY" run $sweep --json
json '[x["batch"] for x in d] == [1, 2, 4, 8, 16, 32, 64]'
json 'd[-1]["sweep_stop"].startswith("stopped at batch 64: +4.") and "sweep_stop" not in d[-2]'
has err ', batch 64: stopped at batch 64: \+4\.[0-9] % samples/s by the median; 2 larger batches are not asked$'
# Taken up again it decides as before, from the rows.
code 0 "$ASSAY" matrix --models "$work/bert" --on null:clock=told,sleep_ms=3,item_ms=1 --batch 1 2 4 8 16 32 64 128 256 --seq 4 $quick --db "$work/s.db" --output-dir "$work/dir" --resume
has out '^Plan: 9 cells = 1 model x 1 platform x batch 1,2,4,8,16,32,64,128,256; '
has out '; 7 finished before; 2 of larger batches not asked$'
has err ', batch 64: stopped at batch 64: \+4\.[0-9] % samples/s by the median; 2 larger'
code 0 "$ASSAY" query --format csv --db "$work/s.db" 'SELECT count(*) AS n FROM result'
has out '^7$'
# All of them, on demand.
code 0 "$ASSAY" run $sweep --no-sweep-stop --json
json 'len(d) == 9 and not any("sweep_stop" in x for x in d)'

# What does not fit ends it too; a batch that fails for another reason does not.
code 2 "$ASSAY" run "$work/bert" --on null:clock=told,item_ms=0,sleep_ms=1,fits=2 --batch 1,2,4,8 $quick --json
json '[x["verdict"] for x in d] == ["right", "right", "no_memory"] and d[-1]["sweep_stop"] == "stopped at batch 4: no_memory"'
code 2 "$ASSAY" run "$work/bert" --on null:fail=run@2 --batch 1,2,4 $quick --json
json '[x["verdict"] for x in d] == ["failed"] * 3'

# From which batch on: 1 + 2 b against 5 + b, and a third that takes longer throughout. Below 6 runs a median has no interval.
export ASSAY_NULL='cpu:clock=told,sleep_ms=1,item_ms=2 openvino:clock=told,sleep_ms=5,item_ms=1 cuda:clock=told,sleep_ms=50,item_ms=9'
code 0 "$ASSAY" run "$work/bert" --on cpu,openvino,cuda --batch 1,2,8,16 --seq 4 --no-sweep-stop --runs 6 --no-conform
has out '/bert: the median of openvino falls below that of cpu between batch 2 and 8 \(one process a batch: no claim\)$'
has out '/bert: the median of cpu is below that of cuda from batch 1 to 16 \(one process a batch: no claim\)$'
unset ASSAY_NULL

# Threads: as the engine confirms them; what it does not confirm is no answer.
code 0 "$ASSAY" run "$work/bert" --on null --threads 3 $quick --json
json 'd[0]["threads"] == 3 and d[0]["options"]["threads"] == "3"'
code 2 "$ASSAY" run "$work/bert" --on null --threads 100 $quick --json
json 'd[0]["verdict"] == "unsupported" and d[0]["threads"] == 64 and d[0]["cause"] == "--threads 100: null on NULL runs on 64"'
for platform in cpu openvino; do
	has_platform $platform || continue
	code 0 "$ASSAY" run "$work/bert" --on $platform --threads 1,2 --runs 3 --no-conform --json
	json '[x["threads"] for x in d] == [1, 2]'
done

# Images: resized positions, convolutions that take any size, a table that fits one size only, and models that take none.
code 0 "$ASSAY" run "$work/vit" "$work/resnet" --on cpu --image-size 32,64 --runs 3 --no-conform --json
json '[x["image_size"] for x in d] == [32, 64] * 2 and [x["verdict"] for x in d] == ["right"] * 4'
json 'len(set(x["flops"] for x in d)) == 4'
code 2 "$ASSAY" run "$work/clip" --on cpu --image-size 64 --runs 3 --no-conform --json
json 'd[0]["verdict"] == "unsupported" and "and no other; its learned positions are made for them" in d[0]["cause"]'
code 0 "$ASSAY" run "$SOURCE/tests/conform/cases/diffusers-unet-sd15" --synthetic --on cpu --image-size 24 --runs 3 --no-conform --json
json 'd[0]["output_shape"] == "[1,4,24,24]" and d[0]["image_size"] == 24'
code 2 "$ASSAY" run "$SOURCE/tests/conform/cases/diffusers-sd3" --synthetic --on cpu --image-size 24,26 --runs 3 --no-conform --json
json '[x["verdict"] for x in d] == ["right", "unsupported"]'
json 'd[1]["cause"].startswith("latents of height 26: this model takes at most 24, which is pos_embed_max_size times patch_size")'
code 0 "$ASSAY" run "$work/bert" --on null --image-size 32,64 --runs 3 --no-conform --json
json 'len(d) == 1 and d[0]["image_size"] is None'
has err '--image-size means nothing to this model and is left out for it$'
finish
