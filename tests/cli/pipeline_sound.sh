# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# text-to-audio: a WAV file, the same bytes for the same seed; noise from a file; what a model lacks is a sentence.
# (conform.pipelines has the answers of transformers.)
. "$SOURCE/tests/cli/lib.sh" || exit 1
has_platform cpu || exit 77
from=$SOURCE/tests/conform/pipeline
model() # NAME
{
	code 0 "$ASSAY" synth "$from/text-to-audio-$1" -o "$work/$1"
	cp "$from/text-to-audio-$1/"*token* "$work/$1"
}
model vits
model speecht5
cp "$from/text-to-audio-vits/vocab.json" "$work/vits"
cp "$from/text-to-audio-speecht5/spm_char.model" "$from/text-to-audio-speecht5/input-speaker.safetensors" "$work/speecht5"
code 0 "$ASSAY" synth "$from/text-to-audio-speecht5/vocoder" -o "$work/speecht5/vocoder"
chmod -R u+w "$work"

# wave FILE: a header of 32-bit floats, and their number, which is the answer's.
wave()
{
	python3 - "$1" "$(sed -n 's/^audio \[\([0-9]*\)\].*/\1/p' "$work/out")" <<'PY' || fail "$1: no WAV file of the answer"
import struct, sys
data = open(sys.argv[1], "rb").read()
kind, channels, rate = struct.unpack("<HHI", data[20:28])
size = struct.unpack("<I", data[data.index(b"data") + 4:][:4])[0]
sys.exit(not (data[:4] == b"RIFF" and (kind, channels, rate) == (3, 1, 16000) and size == 4 * int(sys.argv[2])))
PY
}
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/vits" 'The committee' -o "$work/plain.wav"
[ "$(cat "$work/err")" = "text-to-audio (by the model's class); --task names another" ] || fail "the task: $(cat "$work/err")"
has out "^audio \[[0-9]+\] $work/plain.wav  sampling_rate 16000\$"
wave "$work/plain.wav"
code 0 "$ASSAY" pipeline --no-reference "$work/vits" 'The committee' --save "$work/saved"
cmp "$work/plain.wav" "$work/saved/audio.wav" || fail "--save and -o differ"
code 0 "$ASSAY" query "SELECT answer, answer_picture FROM result" --json
json 'json.loads(d[0]["answer"])[0]["sound"] == {"bytes": os.path.getsize(work + "/plain.wav"), "sha256": "'"$(sha256sum <"$work/plain.wav" | cut -d' ' -f1)"'"}'
# Without a scale of noise a seed changes nothing; with one it does, also how long it takes.
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/vits" 'The committee' -o "$work/other.wav" --seed 1
cmp "$work/plain.wav" "$work/other.wav" || fail "a seed where nothing is drawn"
sed -i 's/"noise_scale": 0.0/"noise_scale": 0.6/;s/"noise_scale_duration": 0.0/"noise_scale_duration": 0.8/' "$work/vits/config.json"
for name in one again; do
	code 0 "$ASSAY" pipeline --no-db --no-reference "$work/vits" 'The committee' --task text-to-speech -o "$work/$name.wav" --seed 1
done
cmp "$work/one.wav" "$work/again.wav" || fail "the same seed gave other bytes"
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/vits" 'The committee' -o "$work/other.wav" --seed 2
cmp -s "$work/one.wav" "$work/other.wav" && fail "another seed gave the same bytes"
# Noise of a file: zeros are what no noise is.
python3 - "$work" <<'PY'
import json, struct, sys
def save(name, shapes):
    head, at = {}, 0
    for key, shape in shapes.items():
        n = 4 * shape[0] * shape[1] * shape[2]
        head[key], at = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + n]}, at + n
    text = json.dumps(head).encode()
    open(f"{sys.argv[1]}/{name}.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + bytes(at))
save("zeros", {"noise": [1, 400, 24], "duration_noise": [1, 27, 2]})
save("few", {"noise": [1, 4, 24], "duration_noise": [1, 27, 2]})
save("odd", {"noise": [1, 400, 23], "duration_noise": [1, 27, 2]})
PY
told() { printf '{"text": "The committee", "noise": "%s"}' "$work/$1.safetensors"; }
code 0 "$ASSAY" pipeline --no-db --no-reference "$work/vits" "$(told zeros)" -o "$work/given.wav"
cmp "$work/plain.wav" "$work/given.wav" || fail "noise of zeros"
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/vits" "$(told few)"
has err 'frames, and noise for 4$'
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/vits" "$(told odd)"
has err 'noise is \[1,frames,24\], duration_noise \[1,27,2\] for this text$'
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/vits" 'The committee' -o "$work/x.png"
has err 'whose name ends with .wav$'
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/vits" 'The committee' --option speaker_id=0
has err 'the model has 0 speakers to choose from$'
sed -i 's/"phonemize": false/"phonemize": true/' "$work/vits/tokenizer_config.json"
code 2 "$ASSAY" pipeline --no-db --no-reference "$work/vits" 'The committee'
has err 'phonemize, letters to phonemes by espeak, is not supported yet'
sed -i 's/"phonemize": true/"phonemize": false/;s/"is_uroman": false/"is_uroman": true/' "$work/vits/tokenizer_config.json"
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/vits" 'garçon'
has err 'uroman writes them \(is_uroman\): not supported yet'

# SpeechT5: a voice is needed. The dropout that is never switched off is of the seed.
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/speecht5" 'The weather'
has err 'the input has no speaker_embeddings, a safetensors file with the vector of a voice, \[1,12\]$'
weather="{\"text\": \"The weather\", \"speaker_embeddings\": \"$work/speecht5/input-speaker.safetensors\"}"
say() { # NAME OPTION...
	local name=$1
	shift
	code 0 "$ASSAY" pipeline --no-db --no-reference "$work/speecht5" "$weather" -o "$work/$name.wav" --option threshold=0.3 --option maxlenratio=4 "$@"
}
say plain
wave "$work/plain.wav"
sed -i 's/"speech_decoder_prenet_dropout": 0.0/"speech_decoder_prenet_dropout": 0.5/' "$work/speecht5/config.json"
say one --seed 1
say again --seed 1
say other --seed 2
cmp "$work/one.wav" "$work/again.wav" || fail "the same seed gave other bytes"
cmp -s "$work/one.wav" "$work/other.wav" && fail "another seed gave the same bytes"
cmp -s "$work/one.wav" "$work/plain.wav" && fail "a dropout changes nothing"
rm -r "$work/speecht5/vocoder"
code 1 "$ASSAY" pipeline --no-db --no-reference "$work/speecht5" "$weather"
has err 'a vocoder is needed in the folder vocoder/'
finish
