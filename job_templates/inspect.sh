# What an image holds beside the base commit, told line by line; assay.domain.inspection reads it.
#
# run.sh runs this in place of the test commands, in the work tree, offline, with no patch applied.  Needs git, find,
# grep, sort, uniq, head and xargs; what is missing is told, never passed over.  One fact a line: a word, a tab, the rest.
#
# Beside it, in ASSAY_INSPECT, in chunks: lines.* (distinctive added lines of the reference patch, one a line; may be empty) and
# endings.* (of the names of the files that it touches, one a line, for example .go).

inspect_in=${ASSAY_INSPECT:-/assay/in/inspect}
inspect_root=${ASSAY_INSPECT_ROOT:-/}
inspect_most=20000
LC_ALL=C
export LC_ALL

say() {
	printf '%s\t%s\n' "$1" "$2"
}

# Prefixes each line of the input with a word; at most so many lines, and how many there were.
tell() {
	tell_word=$1 tell_count=0
	while IFS= read -r tell_line; do
		tell_count=$((tell_count + 1))
		[ "$tell_count" -gt "$inspect_most" ] || say "$tell_word" "$tell_line"
	done
	[ "$tell_count" -le "$inspect_most" ] || say "more-$tell_word" "$tell_count"
}

plain_git() {
	HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_NO_REPLACE_OBJECTS=1 \
		git -c safe.directory='*' -c core.quotePath=true "$@"
}

inspect_history() {
	say head "$(plain_git rev-parse HEAD)"
	plain_git cat-file --batch-all-objects --batch-check='%(objectname)' >"$scratch/all" || say missing 'git 2.6'
	plain_git rev-list --objects HEAD >"$scratch/history" || say missing 'whole history of the base'
	while IFS= read -r line; do printf '%s\n' "${line%% *}"; done <"$scratch/history" | sort -u >"$scratch/reachable"
	sort -u "$scratch/all" | sort - "$scratch/reachable" "$scratch/reachable" | uniq -u >"$scratch/outside"
	plain_git cat-file --batch-check='%(objectname) %(objecttype)' <"$scratch/outside" >"$scratch/typed"
	say outside "$(grep -c . "$scratch/typed")"
	grep -v ' blob$' "$scratch/typed" | grep -v ' tree$' | while IFS=' ' read -r name type; do
		case $type in
		commit) say commit "$(plain_git log -1 --no-decorate --format='%H %cI %s' "$name")" ;;
		tag) say tag "$name $(plain_git cat-file tag "$name" | grep '^tag ')" ;;
		*) say object "$name $type" ;;
		esac
	done | head -n "$inspect_most"
	grep ' blob$\| tree$' "$scratch/typed" | head -n 20 | tell object
	plain_git for-each-ref --format='%(refname) %(objectname)' | tell ref
	gitdir=$(plain_git rev-parse --git-dir)
	for file in objects/info/alternates FETCH_HEAD ORIG_HEAD MERGE_HEAD refs/stash logs/refs/stash; do
		[ ! -e "$gitdir/$file" ] || say gitfile "$file"
	done
	for folder in "$gitdir"/worktrees/* "$gitdir"/modules/*; do
		[ ! -e "$folder" ] || say gitfile "${folder#"$gitdir"/}"
	done
	plain_git remote -v | tell remote
}

# Files elsewhere in the image, and untracked ones in the work tree, that hold added lines of the reference patch.
inspect_copies() {
	cat "$inspect_in"/lines.* 2>/dev/null | grep . >"$scratch/lines" || return 0
	plain_git ls-files -z | xargs -0 grep -ohF -f "$scratch/lines" -- 2>/dev/null | sort -u | tell treeline
	cat "$inspect_in"/endings.* >"$scratch/endings" 2>/dev/null
	set --
	while IFS= read -r ending; do
		[ $# -eq 0 ] || set -- "$@" -o
		set -- "$@" -name "*$ending"
	done <"$scratch/endings"
	[ $# -gt 0 ] || return 0
	{
		find "$inspect_root" -xdev \( -path "$top" -o -path /proc -o -path /sys -o -path /assay \) -prune -o \
			-type f \( "$@" \) -size -4096k -exec grep -oHF -f "$scratch/lines" -- {} + 2>/dev/null
		plain_git ls-files -o -z | xargs -0 grep -oHF -f "$scratch/lines" -- 2>/dev/null
	} | sort -u | tell copy
}

# Go: the modules of the work tree, and every module whose code lies in a cache, a vendor tree or a GOPATH.
inspect_modules() {
	plain_git ls-files -- go.mod '*/go.mod' | while IFS= read -r file; do
		say gomod "$file $(grep -m 1 '^module[[:space:]]' "$file")"
	done
	find "$inspect_root" -xdev \( -path /proc -o -path /sys -o -path /assay \) -prune -o \
		\( -path '*/cache/download/*' -name '*.zip' -o -path '*/pkg/mod/*@v[0-9]*' -type d -prune \) -print 2>/dev/null | tell cached
	find "$inspect_root" -xdev \( -path /proc -o -path /sys -o -path /assay \) -prune -o \
		-path '*/vendor/modules.txt' -type f -print 2>/dev/null | while IFS= read -r file; do
		grep '^# ' "$file" | while IFS= read -r line; do say vendored "$file $line"; done
	done
	find "$inspect_root" -xdev \( -path /proc -o -path /sys -o -path /assay -o -path "$top" \) -prune -o \
		-path '*/src/*.*/*/*' -type d -print -prune -o -path '*/src/*.*/*' -type d -print 2>/dev/null |
		grep -v '/pkg/mod/' | tell gopath
	find "$top" -path '*/testdata/*' -name '*.zip' -type f -print 2>/dev/null | tell testzip
}

for program in git find grep sort uniq head xargs; do
	command -v "$program" >/dev/null 2>&1 || say missing "$program"
done
scratch=$(mktemp -d 2>/dev/null) || { scratch=/tmp/assay-inspect && mkdir -p "$scratch"; }
trap 'rm -rf "$scratch"' EXIT
if ! top=$(plain_git rev-parse --show-toplevel) || ! cd "$top"; then
	say missing repository
	exit 0
fi
say top "$top"
inspect_history
inspect_copies
inspect_modules
say done 1
