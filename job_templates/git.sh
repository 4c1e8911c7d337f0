# What run.sh and serve.sh share, read by both before anything else: the shell, git, and what state a work tree is in.
#
# They set assay_io, assay_scratch and assay_base, and define how to tell what is found here:
#   assay_fails REASON WORDS   ends the script
#   assay_note_dirt PATH       for each of the first ten paths that differ from HEAD

# bash can give a background job default signals and a process group of its own; dash without a terminal cannot.
if [ -z "${BASH_VERSION-}" ] && bash --posix -c : >/dev/null 2>&1; then
	exec bash --posix "$0"
fi

assay_tab=$(printf '\t')
assay_newline='
'
assay_objects= assay_store=

# Waits for a FIFO of the witness's, then chooses the shell of commands and gives them a home.
assay_begin() {
	until [ -p "$assay_io/$1" ]; do
		sleep 0.02 2>/dev/null || sleep 1
	done
	assay_shell=sh
	! command -v bash >/dev/null 2>&1 || assay_shell=bash
	if [ -z "${HOME-}" ]; then
		HOME=/root
		[ -w "$HOME" ] || HOME=/tmp
		export HOME
	fi
}

# git, whatever the image's configuration and whoever owns the repository.  safe.directory stands in a file as well:
# git 2.35.2 to 2.37 and its backports believe it nowhere else, and git before 2.32 reads $HOME alone.
#
# With assay_store: a git directory of our own over the work tree, so that nothing in the repository's .git but its objects
# is looked at.  With assay_objects, those of the repository: an index of our own beside it.
assay_git() {
	(
		unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_NAMESPACE
		unset GIT_CEILING_DIRECTORIES GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_EXTERNAL_DIFF GIT_TRACE GIT_PREFIX
		HOME=$assay_scratch XDG_CONFIG_HOME=$assay_scratch GIT_CONFIG_GLOBAL=$assay_scratch/.gitconfig
		GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1 GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0 LC_ALL=C
		export HOME XDG_CONFIG_HOME GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM GIT_ATTR_NOSYSTEM GIT_OPTIONAL_LOCKS
		export GIT_TERMINAL_PROMPT LC_ALL
		if [ -n "$assay_store" ]; then
			GIT_DIR=$assay_store GIT_WORK_TREE=$assay_top GIT_INDEX_FILE=$assay_store/$assay_index
			GIT_ALTERNATE_OBJECT_DIRECTORIES=$assay_top/.git/objects
			export GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_ALTERNATE_OBJECT_DIRECTORIES
		elif [ -n "$assay_objects" ]; then
			GIT_INDEX_FILE=$assay_scratch/index GIT_OBJECT_DIRECTORY=$assay_scratch/objects
			GIT_ALTERNATE_OBJECT_DIRECTORIES=$assay_objects
			export GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
		fi
		exec git -c safe.directory='*' -c core.hooksPath=/dev/null -c core.autocrlf=false -c core.fsmonitor=false \
			-c core.attributesFile=/dev/null -c core.excludesFile=/dev/null -c core.quotePath=true -c core.splitIndex=false \
			-c apply.whitespace=nowarn -c apply.ignoreWhitespace=no \
			-c core.compression=1 -c core.logAllRefUpdates=false -c gc.auto=0 "$@"
	)
}

# git could not do its work here: a fault of the place; its words tell the reason.
assay_git_fails() {
	case $1 in
	*'No space left'* | *'Disk quota exceeded'*) assay_fails StorageFull "$1" ;;
	*'Permission denied'* | *'Read-only file system'*) assay_fails WorktreeReadOnly "$1" ;;
	*) assay_fails GitFailed "$1" ;;
	esac
}

# Enters the top of the work tree, assay_top, whose commit is assay_head; returns 1 with assay_reason and assay_words when
# there is none.
assay_find_repository() {
	assay_git init -q --bare --template= "$assay_scratch" >/dev/null 2>&1 && {
		printf '[safe]\n\tdirectory = *\n'
		assay_folder=$(pwd -P)
		while [ -n "$assay_folder" ]; do
			printf '\tdirectory = %s\n' "$assay_folder"
			assay_folder=${assay_folder%/*}
		done
	} >"$assay_scratch/.gitconfig" || assay_fails ScratchUnavailable "$assay_scratch"
	assay_reason=NotARepository
	assay_words=$(assay_git rev-parse --show-toplevel 2>&1) && cd "$assay_words" || return 1
	assay_reason=NoCommit assay_top=$assay_words
	assay_head=$(assay_git rev-parse -q --verify 'HEAD^{commit}')
}

# Where the task's base commit lies: head, ancestor (the image has commits on top), other, absent.
assay_base_is() {
	if [ "${assay_base:-$assay_head}" = "$assay_head" ]; then
		echo head
	elif ! assay_git cat-file -e "$assay_base^{commit}" 2>/dev/null; then
		echo absent
	elif assay_git merge-base --is-ancestor "$assay_base" HEAD 2>/dev/null; then
		echo ancestor
	else
		echo other
	fi
}

# Compares the work tree with HEAD through an index of our own (the image's stays as it is, and need not be writable), and
# counts in assay_dirty what differs.  Files whose raw bytes equal the commit's are clean, whatever attributes say of line
# ends; so are filtered ones (LFS).  Leaves assay_objects set.
assay_find_dirt() {
	assay_staged=$(assay_git diff-index --cached --diff-filter=A HEAD 2>/dev/null)
	assay_objects=$(assay_git rev-parse --git-path objects)
	case $assay_objects in /*) ;; *) assay_objects=$PWD/$assay_objects ;; esac
	assay_words=$(assay_git read-tree HEAD 2>&1) || assay_git_fails "$assay_words"
	assay_git update-index -q --refresh >/dev/null 2>&1
	assay_changed=$(assay_git diff-files --ignore-submodules=dirty 2>&1) || assay_git_fails "$assay_changed"
	assay_dirty=0 assay_checks=0
	set -f
	IFS=$assay_newline
	for assay_line in $assay_changed $assay_staged; do
		IFS=' '
		assay_is_clean "${assay_line#*"$assay_tab"}" ${assay_line%%"$assay_tab"*} && continue
		assay_dirty=$((assay_dirty + 1))
		[ "$assay_dirty" -gt 10 ] || assay_note_dirt "${assay_line#*"$assay_tab"}"
	done
	unset IFS
	set +f
}

# PATH :OLDMODE NEWMODE OLDHASH NEWHASH STATUS.  Only so many paths are looked at closely, one process each.
assay_is_clean() {
	[ "$6" = M ] && [ "$2" = ":$3" ] && [ "$assay_checks" -lt 200 ] || return 1
	assay_checks=$((assay_checks + 1))
	[ "$(assay_git hash-object --no-filters -- "$1" 2>/dev/null)" = "$4" ] && return 0
	case $(assay_git check-attr filter -- "$1" 2>/dev/null) in
	'' | *': unspecified' | *': unset') return 1 ;;
	esac
}
