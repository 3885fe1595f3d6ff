# SPDX-License-Identifier: Apache-2.0
# On OpenVINO: every case of the first twenty types and each third of the others; all of them with ASSAY_LONG set (./check --long). Its own
# compiler, which is not ours to test, takes five times as long as everything else in a case.
on=openvino
first="albert bart bert camembert deit dinov2 distilbert electra gemma gemma2 gpt2 llama mistral mpnet opt qwen2 qwen3 roberta vit xlm-roberta"
cd "$SOURCE/tests/conform/cases"
[ -n "${ASSAY_LONG-}" ] || names=$({
	for type in $first; do ls -d "$type" "$type"-* 2>/dev/null; done
	ls | sed -n '1~3p'
} | sort -u)
cd "$OLDPWD"
. "$SOURCE/tests/conform/lib_cases.sh"
