# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# text-to-image: a picture of a folder that diffusers saved; the same seed gives the same bytes, another one others; what the folder
# lacks, and what cannot be asked, is a sentence. (conform.pipelines has the answers of diffusers.)
. "$SOURCE/tests/cli/lib.sh" || exit 1
has_platform cpu || exit 77
from=$SOURCE/tests/conform/pipeline/text-to-image-sd15
model=$work/model
mkdir "$model"
cp -r "$from/model_index.json" "$from/scheduler" "$from/tokenizer" "$model"
for part in text_encoder unet vae; do
	code 0 "$ASSAY" synth "$from/$part" -o "$model/$part"
done
chmod -R u+w "$model"

code 0 "$ASSAY" pipeline --no-db --no-reference "$model" 'a red fox' --steps 3 --seed 1 -o "$work/fox.png"
[ "$(cat "$work/err")" = "text-to-image (by the model's files); --task names another" ] || fail "the task: $(cat "$work/err")"
has out "^image \[32,32,3\]  png $work/fox.png 32 x 32\$"
code 0 "$ASSAY" pipeline --no-db --no-reference "$model" 'a red fox' --steps 3 --seed 1 --option negative_prompt= --output "$work/again.png" --json
json 'd["task"] == "text-to-image" and d["answers"][0]["input"] == {"prompt": "a red fox"}'
json 'd["answers"][0]["files"] == [{"of": "image.png", "file": work + "/again.png"}] and list(d["answers"][0]["pictures"]) == ["image.png"]'
json '{g["graph"]: g["runs"] for g in d["times"]["graphs"]} == {"text_encoder/model.onnx": 1, "unet/model.onnx": 3, "vae/vae_decoder.onnx": 1}'
json 'all(g["run_ms"] > 0 and g["open_ms"] > 0 for g in d["times"]["graphs"])'
cmp "$work/fox.png" "$work/again.png" || fail "the same seed gave other bytes"
# A name in the Hub's cache, as the folder; a model by itself it is not there either.
snapshot=$HF_HUB_CACHE/models--org--fox/snapshots
mkdir -p "$snapshot"
ln -s "$model" "$snapshot/0123456789012345678901234567890123456789"
code 0 "$ASSAY" pipeline --no-db --no-reference org/fox 'a red fox' --steps 3 --seed 1 --option negative_prompt= -o "$work/again.png"
cmp "$work/fox.png" "$work/again.png" || fail "the folder in the Hub's cache gave other bytes"
code 1 "$ASSAY" inspect org/fox
has err '^assay: org/fox: has no config.json, .*; it is a pipeline of several models'
other() { # OPTION...: another picture
	code 0 "$ASSAY" pipeline --no-db --no-reference "$model" 'a red fox' --steps 3 -o "$work/other.png" "$@"
	cmp -s "$work/fox.png" "$work/other.png" && fail "$*: the same picture"
	return 0
}
other --seed 2
other --seed 1 --option negative_prompt=dog
other --seed 1 --option guidance_scale=1
other --seed 1 --option eta=1
# Noise at each step is of the seed, too.
sed -i 's/DDIMScheduler/EulerAncestralDiscreteScheduler/;s/"steps_offset"/"timestep_spacing": "leading", "steps_offset"/' \
	"$model/scheduler/scheduler_config.json" "$model/model_index.json"
code 0 "$ASSAY" pipeline --no-db --no-reference "$model" 'a red fox' --steps 3 --seed 1 -o "$work/fox.png"
code 0 "$ASSAY" pipeline --no-db --no-reference "$model" 'a red fox' --steps 3 --seed 1 -o "$work/again.png"
cmp "$work/fox.png" "$work/again.png" || fail "the same seed gave other bytes with a scheduler that draws noise"
code 0 "$ASSAY" pipeline --no-db --no-reference "$model" 'a red fox' --steps 2 --option height=16 --option width=24 --save "$work/saved"
has out "png $work/saved/image.png 24 x 16\$"
[ -s "$work/saved/image.png" ] && [ -s "$work/saved/answer.safetensors" ] || fail "nothing was saved"

# Ctrl-C: what is finished is there, the rest is not begun, and nothing runs on.
# shellcheck disable=SC2046
"$ASSAY" pipeline --no-db --no-reference "$model" $(seq 60) --steps 300 --save "$work/many" >"$work/out" 2>"$work/err" &
pid=$!
for _ in $(seq 600); do
	[ -s "$work/many/0.image.png" ] && break
	sleep 0.1
done
kill -INT $pid
wait $pid
[ $? -eq 2 ] || fail "an interrupted pipeline did not end with 2"
has err 'stopped from outside'
[ ! -e "$work/many/59.image.png" ] || fail "all 60 pictures were made"

refused() { # CODE PATTERN OPTION...
	local want=$1 pattern=$2
	shift 2
	code "$want" "$ASSAY" pipeline --no-db --no-reference "$model" 'a red fox' "$@"
	has err "$pattern"
}
refused 1 'a height of 30: this model makes multiples of 4, up to 4096' --option height=30
refused 1 'height is a whole number from 4 to 4096' --option height=4100
refused 1 'num_inference_steps is a whole number from 1 to 1000' --option num_inference_steps=1001
refused 1 "steps wants a whole number from 1 to 1000" --steps 0
refused 1 'seed is a whole number' --option seed=-1
refused 1 '^assay: --steps 2 and --option num_inference_steps with another value: give one of them$' --steps 2 --option num_inference_steps=3
refused 1 'strength says how much of an image is changed: an image is needed' --option strength=0.5
refused 1 "other.wav: a picture is written as a PNG file" --steps 1 -o "$work/other.wav"
[ ! -e "$work/other.wav" ] || fail "a picture is a WAV file"
code 1 "$ASSAY" pipeline --no-db --no-reference "$model" "{\"prompt\": \"a\", \"mask_image\": \"$work/fox.png\"}"
has err 'mask_image needs the input image beside it$'
refused 1 'eta is from 0 to 1' --option eta=2
refused 2 'max_sequence_length of StableDiffusionPipeline is not supported yet' --option max_sequence_length=8
code 1 "$ASSAY" pipeline --no-db --no-reference "$model" 'a red fox' 'a wolf' --steps 1 -o "$work/two.png"
has err '-o .*/two.png is one file, and 2 inputs have 2 answers: ask for one at a time, or --save FOLDER'
refused 1 'times that training had not, .*: ask for fewer \(--steps\)' --steps 1000
# The model's own files are not replaced, also by way of a link; a picture that nobody keeps is said to be gone.
ln -s "$model/unet/config.json" "$work/link.png"
for file in "$model/unet/config.json" "$model/model_index.json" "$work/link.png"; do
	code 1 "$ASSAY" pipeline --no-db --no-reference "$model" 'a red fox' --steps 1 -o "$file"
	has err "^assay: -o $file is a file in the model's own folder: "
done
code 0 "$ASSAY" pipeline --no-db --no-reference "$model" 'a red fox' --steps 1
has err '^assay: the picture is not kept: -o FILE.png writes it$'
code 1 "$ASSAY" pipeline --no-db --no-reference "$model/unet" 'a red fox' --task text-to-image
has err 'has no model_index.json'
# A picture is not what every task gives.
code 0 "$ASSAY" synth "$SOURCE/tests/conform/pipeline/feature-extraction-bert" -o "$work/bert"
cp "$SOURCE/tests/conform/pipeline/feature-extraction-bert"/*token* "$work/bert"
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/bert" 'a red fox' -o "$work/none.png"
has err 'the answer has no picture'
[ ! -e "$work/none.png" ] || fail "a file without a picture"
# The scheduler, the classes and the parts that the folder has.
cp "$model/model_index.json" "$work/index"
code 0 "$ASSAY" pipeline --no-db --no-reference "$model" 'a red fox' --steps 2 -o "$work/by-index.png"
sed -i 's/EulerAncestralDiscrete/Guessing/' "$model/scheduler/scheduler_config.json" # diffusers does not ask it either
code 0 "$ASSAY" pipeline --no-db --no-reference "$model" 'a red fox' --steps 2 -o "$work/by-config.png"
cmp "$work/by-index.png" "$work/by-config.png" || fail "the class in scheduler_config.json counts"
sed -i 's/EulerAncestralDiscrete/Guessing/' "$model/model_index.json"
refused 2 'the scheduler GuessingScheduler is not supported yet'
sed -i 's/UNet2DConditionModel/UNet9/' "$model/model_index.json"
refused 2 'unet: the class UNet9 is not supported yet'
sed 's/"StableDiffusionPipeline"/"CascadePipeline"/' "$work/index" >"$model/model_index.json"
refused 2 'the class CascadePipeline is not supported yet'
sed 's/"CLIPTextModel"/null/' "$work/index" >"$model/model_index.json"
refused 1 'needs the part text_encoder, which is not there'
cp "$work/index" "$model/model_index.json"
sed -i 's/"cross_attention_dim": [0-9]*/"cross_attention_dim": 40/' "$model/unet/config.json"
refused 1 'unet: its cross_attention_dim is 40, and text_encoder gives [0-9]+ numbers$'
rm "$model/unet/model.safetensors"
refused 1 'unet: no weights are there; `assay synth .*/unet -o .*/unet` puts seeded random ones beside its config.json'
rm -r "$model/vae"
refused 1 'has no folder vae'
# It is no model by itself.
for command in run inspect "synth -o $work/none"; do
	# shellcheck disable=SC2086
	code 1 "$ASSAY" $command "$model"
	has err "has no config.json, .*; it is a pipeline of several models .model_index.json., which \`assay pipeline $model TEXT\` asks; each of them is a model, such as \`$model/unet\`\$"
done

# Stable Diffusion XL without its first text encoder; sizes that leave no room for the pooled text. Latent consistency with another
# scheduler, which the class cannot ask.
other_model() # NAME PART...: the folder with seeded weights
{
	local part name=$1
	shift
	rm -rf "$model"
	mkdir "$model"
	(cd "$SOURCE/tests/conform/pipeline/$name" && cp -r model_index.json scheduler tokenizer* "$model")
	for part; do
		code 0 "$ASSAY" synth "$SOURCE/tests/conform/pipeline/$name/$part" -o "$model/$part"
	done
	chmod -R u+w "$model"
	cp "$model/model_index.json" "$work/index"
}
other_model text-to-image-sdxl text_encoder text_encoder_2 unet vae
sed -i 's/"CLIPTextModel"$/null/' "$model/model_index.json"
refused 2 'model_index.json: tokenizer without text_encoder is not supported yet$' --steps 1
sed 's/"CLIPTextModel"$/null/;/"tokenizer": /,/]/s/"CLIPTokenizer"/null/' "$work/index" >"$model/model_index.json"
refused 1 'unet: its cross_attention_dim is 44, and text_encoder_2 gives 24 numbers$' --steps 1
cp "$work/index" "$model/model_index.json"
sed -i 's/"addition_time_embed_dim": 8/"addition_time_embed_dim": 6/' "$model/unet/config.json"
refused 1 'its projection_class_embeddings_input_dim is 76, and the pooled text and sizes of addition_time_embed_dim give 64 numbers$' --steps 1
sed -i 's/"addition_time_embed_dim": 6/"addition_time_embed_dim": 100000000/' "$model/unet/config.json"
refused 1 'addition_time_embed_dim, 100000000 numbers for each of 6 sizes, leaves none for the pooled text' --steps 1
# Pictures that are typed: the first is the image, the second the mask; a ControlNet reads one of the VAE's size.
other_model text-to-image-sd15-controlnet text_encoder unet vae controlnet
photo=$SOURCE/tests/conform/pipeline/text-to-image-sd15-pictures/input-photo.png
code 0 "$ASSAY" pipeline "$model" 'a red fox' "$photo" --steps 1 --seed 1 -o "$work/fox.png" --json
json '{g["graph"]: g["runs"] for g in d["times"]["graphs"]} == {"text_encoder/model.onnx": 1, "controlnet/model.onnx": 1, "unet/model_controlled.onnx": 1, "vae/vae_decoder.onnx": 1}'
refused 1 'StableDiffusionControlNetPipeline needs the input image, a picture' --steps 1
code 1 "$ASSAY" pipeline "$model" 'a red fox' "$photo" --steps 1 --option control_guidance_end=2 --db "$work/none.duckdb"
has err 'control_guidance_start and control_guidance_end are from 0 to 1, the start before the end'
code 0 "$ASSAY" query 'SELECT count(*) AS n FROM result' --db "$work/none.duckdb" --json
json 'd == [{"n": 0}]'
sed -i '/"conditioning_embedding_out_channels"/,/]/s/\b8,/8, 8,/' "$model/controlnet/config.json"
code 1 "$ASSAY" pipeline "$model" 'a red fox' "$photo" --steps 1
has err 'controlnet: 4 convolutions read its picture, and the VAE makes it 4 times smaller'
sed 's/StableDiffusionControlNetPipeline/StableDiffusionPipeline/' "$work/index" >"$model/model_index.json"
code 0 "$ASSAY" pipeline "$model" 'a red fox' "$photo" "${photo/photo/mask}" --steps 2 --option height=16 --option width=24 -o "$work/filled.png"
has out 'filled.png 24 x 16'
code 0 "$ASSAY" pipeline "$model" 'a red fox' "$photo" --steps 2 -o "$work/varied.png"
has out 'varied.png 36 x 44'
other_model text-to-image-lcm text_encoder unet vae
for scheduler in EulerDiscreteScheduler DDPMScheduler; do
	sed "s/LCMScheduler/$scheduler/" "$work/index" >"$model/model_index.json"
	refused 2 "LatentConsistencyModelPipeline with the scheduler $scheduler, and only LCMScheduler goes with it\$" --steps 2
done
finish
