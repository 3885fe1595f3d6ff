# SPDX-License-Identifier: Apache-2.0
# Program: plain
# A case of each type on OpenVINO; in the tier "long" every case that the program carries. cases_cpu.sh runs all of them always.
on=openvino
if [ -z "${ASSAY_LONG:-}" ]; then
	cd "$SOURCE/tests/conform/cases"
	# The first case of each model_type, by name: the outermost of a configuration is two spaces in.
	names=$(grep -H '^ *"model_type": ' -- */config.json | awk -F'"model_type": ' '
		{ file = $1; sub(/\/config.json:.*/, "", file); depth = length($1) - length(file) - length("/config.json:") }
		!(file in least) || depth < least[file] { least[file] = depth; type[file] = $2; if (!(file in at)) { at[file] = ++n; order[n] = file } }
		END { for (i = 1; i <= n; i++) if (!seen[type[order[i]]]++) print order[i] }')
	cd "$OLDPWD"
fi
. "$SOURCE/tests/conform/lib_cases.sh"
