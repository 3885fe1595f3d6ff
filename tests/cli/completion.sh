# SPDX-License-Identifier: Apache-2.0
# Tier: fast
# Program: plain
# What shells complete: asked of the shells themselves, where they are installed.
. "$SOURCE/tests/cli/lib.sh" || exit 1
export PATH=$work/bin:$PATH
mkdir "$work/bin" && ln -s "$ASSAY" "$work/bin/assay"

# completes SHELL WANTED WORDS...: among what the shell offers for the last of these words is WANTED.
completes()
{
	local shell=$1 wanted=$2
	shift 2
	"${shell}_offers" "$@" >"$work/offers" 2>&1
	grep -Eqx -e "$wanted" "$work/offers" || { fail "$shell does not complete 'assay $*' to $wanted:"; head -5 "$work/offers"; }
}

bash_offers()
{
	bash --norc -c 'source "$0"; COMP_WORDS=(assay "$@"); COMP_CWORD=$#; _assay; printf "%s\n" "${COMPREPLY[@]}"' "$work/assay.bash" "$@"
}

# The completion system needs a terminal: what it would be handed is printed, with the word's beginning taken into account.
zsh_offers()
{
	zsh -f -c 'compdef() { }; source "$0"; compset() { words[CURRENT]=${words[CURRENT]##*[,=]} }
		compadd() { shift; for w in "$@"; do [[ $w == $words[CURRENT]* ]] && print -r -- $w; done }; _files() { print -r -- $words[CURRENT]*(N) }
		words=(assay "$@"); CURRENT=$(($# + 1)); _assay' "$work/assay.zsh" "$@"
}

fish_offers()
{
	fish --no-config -c 'source $argv[1]; complete -C "assay $argv[2..]"' "$work/assay.fish" "$*" | cut -f1
}

for shell in bash zsh fish; do
	code 0 "$ASSAY" completion $shell
	empty err
	cp "$work/out" "$work/assay.$shell"
	command -v $shell >/dev/null || { skip_part "$shell is not here"; continue; }
	$shell -n "$work/assay.$shell" || fail "$shell cannot read its completion"
	completes $shell inspect ins
	completes $shell completion compl
	completes $shell --precision run --prec
	completes $shell openvino run --on open
	completes $shell bfloat16 matrix --precision bf
	completes $shell google-bert/bert-base-uncased run google-bert/bert-b
	completes $shell zero-shot-classification pipeline --task zero-shot-cl
	completes $shell cuda detect cu
	completes $shell zsh completion z
	completes $shell by-hardware query by-h
	completes $shell state-space verify --task stat
	completes $shell '(cpu,)?openvino' run --on cpu,openv
	[ $shell = fish ] || completes $shell '(cpu,unet=)?openvino' pipeline --on cpu,unet=openv
	(cd "$work" && completes $shell assay.bash report -o assay.ba && [ "$failures" -eq 0 ]) || fail "$shell does not complete files"
	"${shell}_offers" run --task '' >"$work/offers" 2>&1
	grep -q -- '--on' "$work/offers" && fail "$shell offers options for the value of --task"
done
# Bash has an equals sign as a word of its own.
completes bash openvino pipeline --on cpu,unet = openv
completes bash webnn pipeline --on cpu,unet =
completes bash openvino run --on = openv
# Every option of every command that its help has.
for option in $("$ASSAY" run --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p'); do
	grep -qw -e "$option" "$work/assay.bash" || fail "$option is not completed"
done
code 1 "$ASSAY" completion tcsh
has err "no completion for 'tcsh': bash, zsh or fish"
finish
