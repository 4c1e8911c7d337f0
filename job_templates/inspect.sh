# What an image holds beside the base commit, told line by line; assay.domain.inspection reads it.
#
# run.sh runs this in place of the test commands, in the work tree, offline, with no patch applied.  Needs git, find,
# grep, sort, uniq, head and xargs; what is missing is told, never passed over.  One fact a line: a word, a tab, the rest.
# Archives are opened by what the image has (unzip, python3, perl or busybox; tar, gzip, bzip2, xz), within bounds: each at
# most 256 MiB packed and 256 MiB unpacked, 4,000 of them, 120 s in all.  What was not looked into is told.
#
# Beside it, in ASSAY_INSPECT, in chunks: lines.* (distinctive added lines of the reference patch, one a line; may be empty) and
# endings.* (of the names of the files that it touches, one a line, for example .go).

inspect_in=${ASSAY_INSPECT:-/assay/in/inspect}
inspect_root=${ASSAY_INSPECT_ROOT:-/}
inspect_most=20000
inspect_archives=${ASSAY_INSPECT_ARCHIVES:-4000}
inspect_seconds=${ASSAY_INSPECT_SECONDS:-120}
inspect_unpacked=268435456
inspect_blocks=${ASSAY_INSPECT_BLOCKS:-524288}
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

# Runs find over the image, without what is no part of it; the words are find's own.
whole_image() {
	find "$inspect_root" -xdev \( -path /proc -o -path /sys -o -path /assay \) -prune -o "$@" 2>/dev/null
}

# The contents of a zip's entries, one after the other; with a second word only those of its go.mod files.
unzipped() {
	if command -v unzip >/dev/null 2>&1; then
		if [ -n "$2" ]; then unzip -p "$1" go.mod '*/go.mod'; else unzip -p "$1"; fi
	elif command -v python3 >/dev/null 2>&1; then
		python3 -I -c 'import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as archive:
    for entry in archive.infolist():
        if not sys.argv[2] or entry.filename.rpartition("/")[2] == "go.mod":
            with archive.open(entry) as file:
                shutil.copyfileobj(file, sys.stdout.buffer)' "$1" "$2"
	elif command -v perl >/dev/null 2>&1; then
		perl -MIO::Uncompress::Unzip -e 'my $zip = IO::Uncompress::Unzip->new($ARGV[0]) or exit 1;
do {
    my $wanted = $ARGV[1] eq "" || $zip->getHeaderInfo->{Name} =~ m{(?:^|/)go\.mod$};
    while ($zip->read(my $part) > 0) { print $part if $wanted }
} while ($zip->nextStream > 0);' "$1" "$2"
	elif command -v busybox >/dev/null 2>&1; then
		if [ -n "$2" ]; then busybox unzip -p "$1" go.mod '*/go.mod'; else busybox unzip -p "$1"; fi
	else
		return 1
	fi 2>/dev/null
}

# What an archive holds, unpacked.
contents() {
	case $1 in
	*.gem) tar -xOf "$1" data.tar.gz | gzip -dc ;;
	*.tar.gz | *.tgz | *.crate) gzip -dc "$1" ;;
	*.tar.bz2) bzip2 -dc "$1" ;;
	*.tar.xz) xz -dc "$1" ;;
	*) unzipped "$1" '' ;;
	esac 2>/dev/null | head -c "$inspect_unpacked"
}

# Whether there is a program that opens an archive.
opens() {
	case $1 in
	*.gem) openers='tar gzip' ;;
	*.tar.gz | *.tgz | *.crate) openers=gzip ;;
	*.tar.bz2) openers=bzip2 ;;
	*.tar.xz) openers=xz ;;
	*)
		for opener in unzip python3 perl busybox; do
			! command -v "$opener" >/dev/null 2>&1 || return 0
		done
		return 1
		;;
	esac
	for opener in $openers; do
		command -v "$opener" >/dev/null 2>&1 || return 1
	done
}

# Calls "$1 FILE" for each file of the input within the bounds; tells how many archives were left alone.
each_archive() {
	begun=$(date +%s) opened=0 left=0
	while IFS= read -r file; do
		if [ "$opened" -ge "$inspect_archives" ] || [ $(($(date +%s) - begun)) -ge "$inspect_seconds" ] ||
			! opens "$file" || [ -n "$(find "$file" -size "+$inspect_blocks")" ]; then
			left=$((left + 1))
		else
			opened=$((opened + 1))
			"$1" "$file"
		fi
	done
	say archives "$opened"
	[ "$left" -eq 0 ] || say "more-$2" "$left"
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
	{
		whole_image -path "$top" -prune -o -type f \( -name '*.zip' -o -name '*.jar' -o -name '*.war' -o -name '*.whl' \
			-o -name '*.egg' -o -name '*.gem' -o -name '*.crate' -o -name '*.nupkg' -o -name '*.tgz' -o -name '*.tar.gz' \
			-o -name '*.tar.bz2' -o -name '*.tar.xz' \) -print
		plain_git -c core.quotePath=false ls-files -o | grep -E '\.(zip|jar|war|whl|egg|gem|crate|nupkg|tgz|tar\.gz|tar\.bz2|tar\.xz)$'
	} | each_archive lines_in archive
}

# The added lines of the reference patch that an archive holds.
lines_in() {
	contents "$1" | grep -F -o $as_text -f "$scratch/lines" | sort -u | while IFS= read -r held; do say copy "$1:$held"; done
}

# Go: the modules of the work tree, and every module whose code lies in a cache, a vendor tree or a GOPATH.
inspect_modules() {
	plain_git ls-files -- go.mod '*/go.mod' | while IFS= read -r file; do
		say gomod "$file $(grep -m 1 '^module[[:space:]]' "$file")"
	done
	whole_image \( -path '*/cache/download/*' -name '*.zip' -o -path '*/pkg/mod/*@v[0-9]*' -type d -prune \) -print | tell cached
	whole_image -path '*/vendor/modules.txt' -type f -print | while IFS= read -r file; do
		grep '^# ' "$file" | while IFS= read -r line; do say vendored "$file $line"; done
	done
	find "$inspect_root" -xdev \( -path /proc -o -path /sys -o -path /assay -o -path "$top" \) -prune -o \
		-path '*/src/*.*/*/*' -type d -print -prune -o -path '*/src/*.*/*' -type d -print 2>/dev/null |
		grep -v '/pkg/mod/' | tell gopath
	whole_image -path '*/testdata/*' -name '*.zip' -type f -print | each_archive modules_in testzip
	whole_image -path '*/src/cmd/vendor/modules.txt' -type f -print | while IFS= read -r file; do
		folder=${file%/src/cmd/vendor/modules.txt}
		[ ! -f "$folder/VERSION" ] || say toolchain "$folder"
	done
	whole_image -name trim.txt -type f -print | while IFS= read -r file; do
		folder=${file%/trim.txt}
		find "$folder" -type f -size -131072 -exec grep -h -o -E $as_text "$module_version" {} + 2>/dev/null | sort -u |
			while IFS= read -r name; do printf '%s\t%s\n' "$folder" "$name"; done
	done | tell built
}

# The modules of a zip: those that its entries' names tell of, which are never packed, and those of its go.mod files.
modules_in() {
	grep -o -E $as_text "$module_version" "$1" 2>/dev/null | sort -u | while IFS= read -r name; do
		say zipped "$1	$name"
	done
	unzipped "$1" go.mod | head -c "$inspect_unpacked" | grep $as_text '^module[[:space:]]' | sort -u |
		while IFS= read -r name; do say zipmod "$1/go.mod $name"; done
}

for program in git find grep sort uniq head xargs; do
	command -v "$program" >/dev/null 2>&1 || say missing "$program"
done
as_text=
! printf 'a\n' | grep -a a >/dev/null 2>&1 || as_text=-a
module_version='[a-z0-9-]+(\.[a-z0-9-]+)+(/[!0-9A-Za-z._~-]+)+@v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*'
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
