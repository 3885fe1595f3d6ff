# SPDX-License-Identifier: Apache-2.0
# Program: plain
# Damaged copies of a trained checkpoint (tools/mutants): the short list on the processor in float32, a few in reduced
# precisions; with ASSAY_LONG everything that is here.
set -eu
: "${ASSAY:?the program}" "${SOURCE:?the source folder}" "${BUILD:?the build folder}"
if [ ! -e "${ASSAY_DEPS:-$SOURCE/.deps}/models/all-MiniLM-L6-v2/model.safetensors" ]; then
	echo "skip: the trained checkpoint is not there; tools/deps fetches it"
	exit 77
fi
if ! ASSAY_BROWSER_PATH=none "$ASSAY" detect cpu | grep -Eq '^  cpu +yes'; then
	echo "skip: cpu is not here"
	exit 77
fi
command -v python3 >/dev/null || { echo "skip: python3 is not there to run tools/mutants"; exit 77; }
export ASSAY ASSAY_BUILD=$BUILD
if [ -n "${ASSAY_LONG:-}" ]; then
	exec python3 "$SOURCE/tools/mutants" --all --out "$BUILD/MUTANTS.md"
fi

# A mutant that lives is told, and so is an equal one that is blamed: a program that calls everything right, one that calls everything wrong.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for verdict in right wrong; do
	cat >"$work/assay" <<-END
		#!/bin/sh
		verdict=$verdict
		case "\$*" in *undamaged*) verdict=right ;; esac
		printf '[{"verdict": "%s", "cause": null, "bound": "", "checks": [], "max_abs_error": 0, "engine_version": null}]' \$verdict
	END
	chmod +x "$work/assay"
	code=0
	ASSAY=$work/assay python3 "$SOURCE/tools/mutants" --some --on cpu --precision float32 --out - gelu-tanh key-bias-zero >"$work/out" || code=$?
	[ "$code" = 1 ] || { echo "a program that says $verdict of everything gave exit code $code"; cat "$work/out"; exit 1; }
done
grep -q '^blamed: key-bias-zero on cpu in float32: wrong' "$work/out" || { cat "$work/out"; exit 1; }
! grep -q 'lives' "$work/out" || { cat "$work/out"; exit 1; }

# In reduced precisions a few that a bound of the precision alone would call right.
also=gelu-tanh/cpu/int8-dynamic,ffn-out-bias-zero/cpu/int4-weights,ffn-1-percent/cpu/int8-weights,attention-zero/cpu/int4-weights
if ASSAY_BROWSER_PATH=none "$ASSAY" detect openvino | grep -Eq '^  openvino +yes'; then
	also=$also,gelu-tanh/openvino/bfloat16
fi
python3 "$SOURCE/tools/mutants" --some --on cpu --precision float32 --also "$also" --out -
