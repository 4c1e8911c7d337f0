#!/bin/sh
# A sandbox's task container: makes the work tree free of history, then runs one call at a time for the witness.
#
# Needs POSIX sh, cat, mkdir, mv, rm and git; uses bash, setsid, readlink, sha256sum and cp where present.  Must be the container's
# first process.  Waits for the witness's FIFOs, which exist only once isolation is proven.
#
# The witness writes lines to `req`, this script answers on `ans`, and both outlive a restarted witness:
#   hello            -> fact KEY VALUE ..., ready
#   run N            -> runs N.job in a session of its own, output to the FIFO N.out; end N RC.  Told again: answers again.
#   kill N SIGNAL    -> signals the call and all of its session
#   look N           -> end N 137 if somebody killed the call's parent
# Set-up failures: "failed REASON WORDS" on `ans` and in the termination message; exit code 96 for a dirty tree, else 95.
# Descriptors: 3 req, 4 ans, 7 the running call's output.  Own variables begin with assay_.

. "${0%/*}/git.sh"

assay_io=${ASSAY_IO:-/assay/io}
assay_workdir=${ASSAY_WORKDIR-}
assay_base=${ASSAY_BASE_COMMIT-}
assay_message=${ASSAY_TERMINATION_MESSAGE:-/dev/termination-log}
assay_most_bytes=${ASSAY_SUBMISSION_BYTES:-67108864}
unset ASSAY_IO ASSAY_WORKDIR ASSAY_BASE_COMMIT ASSAY_TERMINATION_MESSAGE ASSAY_SUBMISSION_BYTES

assay_scratch=$assay_io/scratch
assay_facts= assay_paths=
assay_last=0 assay_rc=0 assay_running=

# --- talking to the witness ---------------------------------------------------------------------------------------

assay_say() {
	printf '%s\n' "$*" >&4
}

assay_fact() {
	assay_facts=$assay_facts"fact $*"$assay_newline
}

# assay_fails REASON WORDS
assay_fails() {
	assay_say "failed $*"
	printf '%s\n' "$*" >"$assay_message" 2>/dev/null
	[ "$1" != TreeDirty ] || exit 96
	exit 95
}

assay_note_dirt() {
	assay_paths="$assay_paths $1"
}

# --- a work tree without history ----------------------------------------------------------------------------------

# Replaces .git by a new one that holds a single root commit of HEAD's tree, then proves that it holds nothing else.
assay_drop_history() {
	assay_old=$(assay_git rev-parse --absolute-git-dir) || assay_fails GitFailed "git is too old"
	assay_common=$(assay_git rev-parse --git-common-dir)
	case $assay_common in /*) ;; *) assay_common=$PWD/$assay_common ;; esac
	assay_count=0
	for assay_ref in $(assay_git for-each-ref '--format=%(refname)'); do
		assay_count=$((assay_count + 1))
	done
	assay_fact removedRefs "$assay_count"
	assay_fact removedCommits "$(assay_git rev-list --all --reflog HEAD --count 2>/dev/null)"
	assay_scrub_submodules "$assay_top"
	assay_rebuild "$assay_old" "$assay_common" "$assay_top/.git.assay" root
	[ ! -d "$assay_common/modules" ] || mv "$assay_common/modules" "$assay_top/.git.assay/modules" || assay_git_fails 'Permission denied'
	rm -rf "$assay_top/.git" "$assay_common" && mv "$assay_top/.git.assay" "$assay_top/.git" ||
		assay_git_fails 'Permission denied'
	assay_git update-index -q --refresh >/dev/null 2>&1
	assay_prove
}

# A submodule keeps the commit that the tree names, and nothing before it.
assay_scrub_submodules() {
	for assay_path in $(assay_git -c core.quotePath=false ls-files -s | assay_links); do
		assay_path=$(printf %b "$assay_path")
		[ -e "$assay_top/$assay_path/.git" ] || continue
		assay_module=$(assay_git -C "$assay_top/$assay_path" rev-parse --absolute-git-dir 2>/dev/null) || continue
		(
			cd "$assay_top/$assay_path" && assay_git rev-parse -q --verify HEAD >/dev/null || exit 0
			assay_rebuild "$assay_module" "$assay_module" "$assay_module.assay" shallow
			[ ! -d "$assay_module/modules" ] || mv "$assay_module/modules" "$assay_module.assay/modules"
			rm -rf "$assay_module" && mv "$assay_module.assay" "$assay_module"
		) || exit
	done
}

# Paths of the submodules, one a line, blanks as \0040 for a field of a shell's list.
assay_links() {
	while IFS=$assay_tab read -r assay_entry assay_path; do
		case $assay_entry in
		160000*)
			while :; do
				case $assay_path in *' '*) assay_path=${assay_path%% *}'\0040'${assay_path#* } ;; *) break ;; esac
			done
			printf '%s\n' "$assay_path"
			;;
		esac
	done
}

# assay_rebuild GITDIR COMMONDIR NEW root|shallow: in the work tree of GITDIR, makes NEW.
assay_rebuild() {
	assay_format=$(assay_git rev-parse --show-object-format 2>/dev/null)
	case $assay_format in sha256) assay_format=--object-format=sha256 ;; *) assay_format= ;; esac
	rm -rf "$3"
	assay_said=$(assay_git init -q --bare --template= $assay_format "$3" 2>&1) || assay_git_fails "$assay_said"
	mkdir -p "$3/info"
	assay_said=$({
		[ "$4" = root ] || assay_git rev-parse HEAD
		assay_git rev-list --objects 'HEAD^{tree}'
	} | assay_git pack-objects -q "$3/objects/pack/pack" 2>&1) || assay_git_fails "$assay_said"
	assay_git config --file "$1/config" --get-regexp "$assay_kept_settings" 2>/dev/null |
		while read -r assay_key assay_value; do
			assay_git config --file "$3/config" --add "$assay_key" "$assay_value"
		done
	assay_git config --file "$3/config" core.bare false
	for assay_file in "$1/index" "$1"/sharedindex.* "$1/info/sparse-checkout" "$2/info/exclude" "$2/info/attributes"; do
		assay_place=$3
		case $assay_file in */info/"${assay_file##*/}") assay_place=$3/info ;; esac
		[ ! -f "$assay_file" ] || cat "$assay_file" >"$assay_place/${assay_file##*/}" || assay_git_fails 'No space left'
	done
	if [ "$4" = shallow ]; then
		assay_commit=$(assay_git rev-parse HEAD)
		printf '%s\n' "$assay_commit" >"$3/shallow"
	else
		assay_date="$(assay_git log -1 --format=%ct) +0000"
		assay_commit=$(
			GIT_AUTHOR_NAME=assay GIT_AUTHOR_EMAIL=assay@localhost GIT_COMMITTER_NAME=assay GIT_COMMITTER_EMAIL=assay@localhost
			GIT_AUTHOR_DATE=$assay_date GIT_COMMITTER_DATE=$assay_date
			export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_DATE
			assay_git --git-dir="$3" commit-tree "$(assay_git rev-parse 'HEAD^{tree}')" -m Base 2>&1
		) || assay_git_fails "$assay_commit"
	fi
	assay_branch=
	[ "$4" = shallow ] || assay_branch=$(assay_git symbolic-ref -q HEAD)
	if [ -n "$assay_branch" ]; then
		assay_git --git-dir="$3" symbolic-ref HEAD "$assay_branch" &&
			assay_git --git-dir="$3" update-ref "$assay_branch" "$assay_commit"
	else
		assay_git --git-dir="$3" update-ref --no-deref HEAD "$assay_commit"
	fi || assay_git_fails "the new commit cannot be named"
}

# Everything else in a configuration (remotes, branches, credentials, aliases, includes) is gone.
assay_kept_settings='^(core\.(filemode|autocrlf|eol|symlinks|ignorecase|precomposeunicode|worktree|excludesfile|attributesfile|sparsecheckout|sparsecheckoutcone)|filter\..*|user\.(name|email)|submodule\.(.*\.)?active)$'

assay_prove() {
	assay_said=$(assay_git fsck --full --connectivity-only --unreachable --no-reflogs --no-dangling --no-progress 2>&1) &&
		[ -z "$assay_said" ] || assay_fails HistoryLeft "git fsck: $assay_said"
	[ "$(assay_git rev-list --all HEAD --count)" = 1 ] || assay_fails HistoryLeft "more than one commit"
	assay_count=0
	for assay_ref in $(assay_git for-each-ref '--format=%(refname)'); do
		assay_count=$((assay_count + 1))
	done
	[ "$assay_count" -le 1 ] || assay_fails HistoryLeft "more than one name"
	for assay_file in logs worktrees hooks packed-refs shallow objects/info/alternates objects/info/http-alternates \
		refs/stash refs/notes refs/replace refs/remotes FETCH_HEAD ORIG_HEAD MERGE_HEAD commondir; do
		[ ! -e ".git/$assay_file" ] || assay_fails HistoryLeft "$assay_file"
	done
	[ -z "$(assay_git remote)" ] || assay_fails HistoryLeft "a remote"
	assay_fact root "$(assay_git rev-parse HEAD)"
}

# --- submissions --------------------------------------------------------------------------------------------------

# Notes the work tree's raw bytes, untracked files included: what a submission is compared with.  Attributes that would
# change bytes are overruled by the store's own.
assay_note_base() {
	assay_index=index
	assay_said=$(assay_git init -q --bare --template= $assay_format "$assay_top/.git/assay" 2>&1) || assay_git_fails "$assay_said"
	mkdir -p "$assay_top/.git/assay/info"
	assay_store=$assay_top/.git/assay
	printf '%s\n' '* -text !eol -ident -filter -working-tree-encoding !diff !whitespace' >"$assay_store/info/attributes"
	assay_said=$(assay_git read-tree "$(assay_store= && assay_git rev-parse 'HEAD^{tree}')" 2>&1) || assay_git_fails "$assay_said"
	assay_said=$(assay_git add -A 2>&1) || assay_git_fails "$assay_said"
	assay_tree=$(assay_git write-tree 2>&1) || assay_git_fails "$assay_tree"
	assay_store=
}

# The job of a submission: the diff on standard output, with every other process of the container stopped.  Every file is
# read: times and sizes, which an index goes by, miss a change of the same size within the second.
# Exit codes: 0 (empty: nothing changed); 3 nothing can be captured, 4 too large, 5 git failed: with words on the output.
assay_capture() {
	kill -STOP -1 2>/dev/null
	assay_take
	assay_taken=$?
	kill -CONT -1 2>/dev/null
	return "$assay_taken"
}

assay_take() {
	assay_store=$assay_top/.git/assay assay_index=next
	cd "$assay_top" 2>/dev/null && [ -d .git/objects ] && [ -f "$assay_store/index" ] &&
		assay_git cat-file -e "$assay_tree" 2>/dev/null || {
		echo "nothing can be captured: the repository in $assay_top was removed or replaced"
		return 3
	}
	assay_said=$({ assay_git read-tree "$assay_tree" && assay_git -c core.bigFileThreshold=16m add -A; } 2>&1) &&
		assay_next=$(assay_git write-tree 2>&1) || {
		printf '%s\n' "nothing can be captured: git failed: $assay_said $assay_next"
		return 5
	}
	[ "$assay_next" != "$assay_tree" ] || return 0
	assay_bytes=$(assay_git diff-tree -r --no-renames --ignore-submodules=all --diff-filter=d "$assay_tree" "$assay_next" |
		while read -r assay_entry assay_mode assay_entry assay_hash assay_entry; do
			printf '%s\n' "$assay_hash"
		done | assay_git cat-file --batch-check='%(objectsize)' | {
		assay_sum=0
		while read -r assay_size; do
			case $assay_size in *[!0-9]*) ;; *) assay_sum=$((assay_sum + assay_size)) ;; esac
		done
		echo "$assay_sum"
	})
	if [ "$assay_bytes" -gt "$assay_most_bytes" ]; then
		echo "too large: the changed files have $assay_bytes bytes, $assay_most_bytes are the most"
		return 4
	fi
	assay_git diff-tree -p -r --binary --full-index --no-renames --no-ext-diff --no-textconv --no-color \
		--ignore-submodules=all --src-prefix=a/ --dst-prefix=b/ "$assay_tree" "$assay_next" 2>/dev/null || return 5
}

# --- what jobs do -------------------------------------------------------------------------------------------------

# assay_script CWD STDIN ARGUMENTS: becomes the call's shell.
assay_script() {
	cd -- "${1:-$assay_home}" || exit 1
	assay_stdin=$2
	shift 2
	[ -z "$assay_setsid" ] || exec setsid "$assay_shell" "$@" <"$assay_stdin"
	exec "$assay_shell" "$@" <"$assay_stdin"
}

# assay_read PATH
assay_read() {
	cd -- "$assay_home" || exit 1
	case $1 in /*) assay_path=$1 ;; *) assay_path=./$1 ;; esac
	assay_is_file "$1"
	exec cat "$assay_path"
}

# Refuses all but a regular file at assay_path, called by the name $1.
assay_is_file() {
	[ ! -d "$assay_path" ] || assay_refuses "$1: Is a directory"
	[ -e "$assay_path" ] || assay_refuses "$1: No such file or directory"
	[ -f "$assay_path" ] || assay_refuses "$1: Not a regular file"
}

assay_refuses() {
	printf '%s\n' "$1"
	exit 1
}

# assay_write DATA keep|create PATH [SHA256]: replaces the file as a whole; its mode and links to it stay.  Exit code 3,
# and nothing written: it is not the file with that hash any more.  An image without sha256sum cannot tell.
assay_write() {
	cd -- "$assay_home" || exit 1
	case $3 in /*) assay_path=$3 ;; *) assay_path=./$3 ;; esac
	assay_follow "$3"
	if [ "$2" = create ] && [ ! -e "$assay_path" ]; then
		case $assay_path in */) assay_refuses "$3: Is a directory" ;; esac
		mkdir -p -- "${assay_path%/*}/" || exit 1
	else
		assay_is_file "$3"
	fi
	if [ -n "${4-}" ] && command -v sha256sum >/dev/null 2>&1; then
		assay_sum=$(sha256sum <"$assay_path")
		if [ "${assay_sum%% *}" != "$4" ]; then
			printf '%s\n' "$3: Changed since it was read"
			exit 3
		fi
	fi
	assay_temporary=${assay_path%/*}/.assay-write.$assay_last
	if [ -e "$assay_path" ] && { [ ! -w "${assay_path%/*}/" ] || ! cp -p -- "$assay_path" "$assay_temporary" 2>/dev/null; }; then
		cat "$1" >"$assay_path" || exit 1
		exit 0
	fi
	cat "$1" >"$assay_temporary" && mv -f -- "$assay_temporary" "$assay_path" && exit 0
	rm -f -- "$assay_temporary"
	exit 1
}

# Follows symbolic links from assay_path to what they mean in the end.
assay_follow() {
	assay_hops=0
	while [ -L "$assay_path" ] && command -v readlink >/dev/null 2>&1; do
		[ "$assay_hops" -lt 40 ] || assay_refuses "$1: Too many levels of symbolic links"
		assay_hops=$((assay_hops + 1))
		assay_target=$(readlink -- "$assay_path" && echo x)
		assay_target=${assay_target%"$assay_newline"x}
		case $assay_target in
		/*) assay_path=$assay_target ;;
		*) assay_path=${assay_path%/*}/$assay_target ;;
		esac
	done
}

# --- calls --------------------------------------------------------------------------------------------------------

assay_start() {
	if [ "$1" -le "$assay_last" ]; then
		[ "$1" != "$assay_last" ] || [ -n "$assay_running" ] || assay_say end "$1" "$assay_rc"
		return
	fi
	assay_last=$1
	# Open both ways, so that no writer ever meets a broken pipe, and kept until the next call, so that nothing is lost.
	if ! [ -p "$assay_io/$1.out" ] || ! command exec 7<>"$assay_io/$1.out"; then
		assay_rc=126
		assay_say end "$1" 126
		return
	fi
	[ -z "$assay_monitor" ] || set -m
	assay_job "$1" &
	assay_running=$!
	set +m
}

assay_job() {
	set +m
	trap - TERM
	(. "$assay_io/$1.job") </dev/null >&7 2>&7 3>&- 4>&- 7>&-
	printf 'end %s %s\n' "$1" $? >&3
}

# assay_finish N RC
assay_finish() {
	[ "$1" = "$assay_last" ] && [ -n "$assay_running" ] || return
	wait "$assay_running" 2>/dev/null
	assay_running= assay_rc=$2
	assay_say end "$1" "$2"
}

assay_is_alive() {
	{ IFS= read -r assay_text <"/proc/$1/stat"; } 2>/dev/null || return 1
	case ${assay_text##*) } in Z* | X*) return 1 ;; esac
}

# Sets assay_family to the running job's processes: its descendants, their groups and sessions.
assay_find_family() {
	assay_family=" $assay_running " assay_grown=1
	while [ -n "$assay_grown" ]; do
		assay_grown=
		for assay_stat in /proc/[0-9]*/stat; do
			{ IFS= read -r assay_text <"$assay_stat"; } 2>/dev/null || continue
			assay_pid=${assay_text%% *}
			case $assay_family in *" $assay_pid "*) continue ;; esac
			set -- ${assay_text##*) }
			case $assay_family in
			*" $2 "* | *" $3 "* | *" $4 "*) [ "$1" = Z ] || assay_family="$assay_family$assay_pid " assay_grown=1 ;;
			esac
		done
	done
}

# assay_kill N SIGNAL: all of the call but its parent, which then tells the end.
assay_kill() {
	[ "$1" = "$assay_last" ] && [ -n "$assay_running" ] || return
	for assay_round in 1 2 3; do
		assay_find_family
		for assay_pid in $assay_family; do
			[ "$assay_pid" = "$assay_running" ] || kill "-$2" "$assay_pid" 2>/dev/null
		done
		[ "$2" = KILL ] || return
	done
	kill -CONT -1 2>/dev/null
	assay_is_alive "$assay_running" || assay_finish "$1" 137
}

# --- the sandbox --------------------------------------------------------------------------------------------------

trap 'exit 143' TERM

assay_begin ans
exec 3<>"$assay_io/req" 4<>"$assay_io/ans"
# Freezing means stopping every process that can be seen: never outside of a container.
[ $$ -eq 1 ] || assay_fails NotFirstProcess "serve.sh must be the first process of its container"

assay_monitor= assay_setsid=
[ -z "${BASH_VERSION-}" ] || assay_monitor=1
! command -v setsid >/dev/null 2>&1 || assay_setsid=1

[ -z "$assay_workdir" ] || cd "$assay_workdir" 2>/dev/null || assay_fails WorkdirMissing "$assay_workdir"
assay_home=$PWD
for assay_tool in cat mkdir mv rm git; do
	command -v "$assay_tool" >/dev/null 2>&1 || assay_fails ToolMissing "the image has no $assay_tool"
done
assay_find_repository || assay_fails "$assay_reason" "$assay_words"
assay_fact base "$assay_head"
assay_fact baseIs "$(assay_base_is)"
assay_find_dirt
assay_objects=
[ "$assay_dirty" -eq 0 ] || assay_fails TreeDirty "$assay_dirty paths differ from HEAD:$assay_paths"
assay_drop_history
assay_note_base
rm -rf "$assay_scratch"
assay_fact shell "$assay_shell"
assay_fact top "$assay_top"
assay_fact workdir "$assay_home"

while :; do
	IFS=' ' read -r assay_verb assay_number assay_word <&3 || continue
	case $assay_verb in
	hello) assay_say "${assay_facts}ready" ;;
	run) assay_start "$assay_number" ;;
	kill) assay_kill "$assay_number" "$assay_word" ;;
	look) [ -z "$assay_running" ] || assay_is_alive "$assay_running" || assay_finish "$assay_number" 137 ;;
	end) assay_finish "$assay_number" "$assay_word" ;;
	esac
done
