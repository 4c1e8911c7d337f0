#!/bin/sh
# One run inside the task's container: proves nothing itself, tells the witness everything.
#
# Needs POSIX sh, cat, sleep, tail and (for patches) git.  Waits for the witness's FIFOs; opening them blocks until the
# witness has proven isolation.  Then: check the tree, apply the patches, run each command, report, exit.
#
# Exit codes: that of the first command that failed, or 0; 124 a command hit its deadline; 95 set-up failed (fact
# setupFailed), 96 the tree is dirty, 97 a patch does not apply; 98 the witness is gone; 143 asked to stop.
# ASSAY_GO_OFFLINE=1 (check GoOffline): the commands' go command is shut off from every server.
# Descriptors: 3 ctl, 4 ack, 5 out, 6 err.  Own variables begin with assay_, so that none of the image's is overwritten.

# bash can give a background job default signals and a process group of its own; dash without a terminal cannot.
if [ -z "${BASH_VERSION-}" ] && bash --posix -c : >/dev/null 2>&1; then
	exec bash --posix "$0"
fi

assay_io=${ASSAY_IO:-/assay/io}
assay_in=${ASSAY_IN:-/assay/in}
assay_cgroup=${ASSAY_CGROUP:-/sys/fs/cgroup}
assay_workdir=${ASSAY_WORKDIR-}
assay_patches=${ASSAY_PATCHES-}
assay_base=${ASSAY_BASE_COMMIT-}
assay_setup_seconds=${ASSAY_SETUP_SECONDS:-600}
assay_test_seconds=${ASSAY_TEST_SECONDS:-600}
assay_go_offline=${ASSAY_GO_OFFLINE-}
unset ASSAY_IO ASSAY_IN ASSAY_CGROUP ASSAY_WORKDIR ASSAY_PATCHES ASSAY_BASE_COMMIT ASSAY_SETUP_SECONDS ASSAY_TEST_SECONDS
unset ASSAY_GO_OFFLINE

assay_scratch=$assay_io/scratch
assay_tab=$(printf '\t')
assay_newline='
'
assay_pid= assay_fired= assay_token= assay_objects=

# --- talking to the witness ---------------------------------------------------------------------------------------

# Says one thing and waits until the witness has taken all output before it.
assay_say() {
	printf '\n%s %s\n' "$assay_token" "$*" >&3 || exit 98
	IFS= read -r assay_answer <&4 || exit 98
}

assay_end() {
	assay_say end "$1"
	until [ "$assay_answer" = end ]; do
		IFS= read -r assay_answer <&4 || exit 98
	done
	exit "$1"
}

assay_setup_fails() {
	assay_say fact setupFailed "$1"
	exit 95
}

# --- jobs with a deadline -----------------------------------------------------------------------------------------

# assay_bounded SECONDS FUNCTION ARGUMENTS: runs the function in the background, as a process group of its own where the
# shell or setsid allows it.  Sets assay_rc; 124 and assay_fired=1 when the deadline passed and everything was killed.
assay_bounded() {
	assay_limit=$1
	shift
	assay_before=
	[ $$ -ne 1 ] || assay_before=$(assay_processes)
	[ -z "$assay_monitor" ] || set -m
	"$@" &
	assay_pid=$!
	set +m
	assay_await "$assay_limit"
	if [ -n "$assay_fired" ]; then
		assay_signal TERM
		assay_await 5
		assay_signal KILL
		assay_sweep
		wait "$assay_pid" 2>/dev/null
		assay_fired=1 assay_rc=124
	fi
	assay_pid=
}

# Waits for the job; sets assay_rc, and assay_fired when SECONDS passed first.
assay_await() {
	assay_fired=
	[ -z "$assay_monitor" ] || set -m
	assay_watch "$1" &
	assay_dog=$!
	set +m
	while :; do
		wait "$assay_pid" 2>/dev/null
		assay_rc=$?
		[ -z "$assay_fired" ] && kill -0 "$assay_pid" 2>/dev/null || break
	done
	kill -KILL "-$assay_dog" 2>/dev/null || kill -KILL "$assay_dog" 2>/dev/null
	wait "$assay_dog" 2>/dev/null
}

# The watchdog.  It sleeps in short naps, because the last one may outlive it; and it goes on barking, because bash can
# miss a signal that comes together with the end of a child.
assay_watch() {
	exec </dev/null >/dev/null 2>&1 3>&- 4<&- 5>&- 6>&-
	set +m
	trap - TERM
	assay_left=$1
	while [ "$assay_left" -gt 0 ]; do
		assay_nap=$((assay_left < 5 ? assay_left : 5))
		sleep "$assay_nap" || exit
		assay_left=$((assay_left - assay_nap))
	done
	while kill -ALRM $$; do
		sleep 1
	done
}

assay_signal() {
	kill "-$1" "-$assay_pid" 2>/dev/null || kill "-$1" "$assay_pid" 2>/dev/null
}

assay_processes() {
	for assay_process in /proc/[0-9]*; do
		printf ' %s ' "${assay_process#/proc/}"
	done
}

# As the container's first process: kills whatever the job left behind, whichever group or session it fled to.
assay_sweep() {
	[ $$ -eq 1 ] || return 0
	for assay_round in 1 2 3; do
		for assay_process in /proc/[0-9]*; do
			assay_process=${assay_process#/proc/}
			case $assay_before in
			*" $assay_process "*) ;;
			*) kill -KILL "$assay_process" 2>/dev/null ;;
			esac
		done
	done
}

# --- set-up -------------------------------------------------------------------------------------------------------

# git, whatever the image's configuration and whoever owns the repository.  safe.directory stands in a file as well:
# git 2.35.2 to 2.37 and its backports believe it nowhere else, and git before 2.32 reads $HOME alone.
assay_git() {
	(
		unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_NAMESPACE
		unset GIT_CEILING_DIRECTORIES GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_EXTERNAL_DIFF GIT_TRACE GIT_PREFIX
		HOME=$assay_scratch XDG_CONFIG_HOME=$assay_scratch GIT_CONFIG_GLOBAL=$assay_scratch/.gitconfig
		GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1 GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0 LC_ALL=C
		export HOME XDG_CONFIG_HOME GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM GIT_ATTR_NOSYSTEM GIT_OPTIONAL_LOCKS
		export GIT_TERMINAL_PROMPT LC_ALL
		if [ -n "$assay_objects" ]; then
			GIT_INDEX_FILE=$assay_scratch/index GIT_OBJECT_DIRECTORY=$assay_scratch/objects
			GIT_ALTERNATE_OBJECT_DIRECTORIES=$assay_objects
			export GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
		fi
		exec git -c safe.directory='*' -c core.hooksPath=/dev/null -c core.autocrlf=false -c core.fsmonitor=false \
			-c core.attributesFile=/dev/null -c core.excludesFile=/dev/null -c core.quotePath=true -c core.splitIndex=false \
			-c apply.whitespace=nowarn -c apply.ignoreWhitespace=no "$@"
	)
}

assay_setup() {
	set +m
	trap - TERM ALRM
	if [ -n "$assay_patches" ] && ! command -v git >/dev/null 2>&1; then
		assay_setup_fails GitMissing
	fi
	assay_find_repository || exit 0
	assay_find_dirt
	for assay_patch in $assay_patches; do
		assay_apply "$assay_patch"
		[ "$assay_patch" != submission ] || assay_confine
	done
	exit 0
}

# Enters the top of the work tree; returns 1 when there is none and none is needed.
assay_find_repository() {
	command -v git >/dev/null 2>&1 || return 1
	assay_git init -q --bare --template= "$assay_scratch" >/dev/null 2>&1 || assay_setup_fails ScratchUnavailable
	{
		printf '[safe]\n\tdirectory = *\n'
		assay_folder=$(pwd -P)
		while [ -n "$assay_folder" ]; do
			printf '\tdirectory = %s\n' "$assay_folder"
			assay_folder=${assay_folder%/*}
		done
	} >"$assay_scratch/.gitconfig" || assay_setup_fails ScratchUnavailable
	if ! assay_top=$(assay_git rev-parse --show-toplevel 2>&1) || ! cd "$assay_top"; then
		[ -n "$assay_patches" ] || return 1
		printf '%s\n' "$assay_top" >&6
		assay_setup_fails NotARepository
	fi
	if ! assay_head=$(assay_git rev-parse -q --verify 'HEAD^{commit}'); then
		[ -z "$assay_patches" ] || assay_setup_fails NoCommit
		return 1
	fi
	assay_say fact head "$assay_head"
	[ -z "$assay_base" ] || assay_say fact base "$(assay_base_is)"
}

# Where the task's base commit lies: head, ancestor (the image has commits on top), other, absent.
assay_base_is() {
	if [ "$assay_base" = "$assay_head" ]; then
		echo head
	elif ! assay_git cat-file -e "$assay_base^{commit}" 2>/dev/null; then
		echo absent
	elif assay_git merge-base --is-ancestor "$assay_base" HEAD 2>/dev/null; then
		echo ancestor
	else
		echo other
	fi
}

# Compares the work tree with HEAD through an index of our own (the image's stays as it is, and need not be writable).
# Files whose raw bytes equal the commit's are clean, whatever attributes say of line ends; so are filtered ones (LFS).
assay_find_dirt() {
	assay_staged=$(assay_git diff-index --cached --diff-filter=A --name-only HEAD 2>/dev/null)
	assay_objects=$(assay_git rev-parse --git-path objects)
	case $assay_objects in /*) ;; *) assay_objects=$PWD/$assay_objects ;; esac
	assay_message=$(assay_git read-tree HEAD 2>&1) || assay_git_fails
	assay_git update-index -q --refresh >/dev/null 2>&1
	assay_changed=$(assay_git diff-files --ignore-submodules=dirty 2>&1) || {
		assay_message=$assay_changed
		assay_git_fails
	}
	assay_dirty=0 assay_checks=0
	set -f
	IFS=$assay_newline
	for assay_line in $assay_changed; do
		IFS=' '
		assay_is_clean "${assay_line#*"$assay_tab"}" ${assay_line%%"$assay_tab"*} || assay_note_dirt "${assay_line#*"$assay_tab"}"
	done
	IFS=$assay_newline
	for assay_line in $assay_staged; do
		IFS=' '
		assay_note_dirt "$assay_line"
	done
	unset IFS
	set +f
	assay_say fact dirty "$assay_dirty"
	[ "$assay_dirty" -eq 0 ] || exit 96
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

assay_note_dirt() {
	assay_dirty=$((assay_dirty + 1))
	[ "$assay_dirty" -gt 10 ] || assay_say fact "dirtyPath-$assay_dirty" "$1"
}

# Applies one patch exactly: first blob to blob through our own index, so that no byte outside of the hunks changes even
# where attributes ask for another line end; then, for files that HEAD does not know, as plain "git apply" does.
assay_apply() {
	assay_last=
	for assay_chunk in "$assay_in/$1.patch."*; do
		[ -f "$assay_chunk" ] || assay_setup_fails PatchMissing
		[ ! -s "$assay_chunk" ] || assay_last=$assay_chunk
	done
	if [ -n "$assay_last" ]; then
		assay_ending=
		if [ -n "$(tail -c 1 "$assay_last")" ]; then
			assay_ending=$assay_newline
			assay_say fact "patch-$1-newline" added
		fi
		assay_feed "$1" --index || assay_feed "$1" || assay_patch_fails "$1"
	fi
	assay_say fact "patch-$1" applied
}

# Feeds a patch to git apply; returns 1, with git's words in assay_message, when it does not apply.  A place that cannot
# be written ends the run here: git may have stopped half-way, and a second try would blame the patch.
assay_feed() {
	assay_name=$1
	shift
	assay_message=$(
		{ cat "$assay_in/$assay_name.patch."* && printf %s "$assay_ending"; } |
			assay_git apply --whitespace=nowarn "$@" 2>&1
	) && return
	case $assay_message in
	*'No space left'* | *'Disk quota exceeded'* | *'Permission denied'* | *'Read-only file system'*) assay_git_fails ;;
	esac
	return 1
}

assay_patch_fails() {
	printf '%s\n' "$assay_message" >&6
	assay_say fact "patch-$1" failed
	exit 97
}

# A submission may change the paths that the operator found in it and let through, and no others: where git reads a path
# in it that the operator did not, the submission is refused.  (Odd names are compared in git's own quotes.)
assay_confine() {
	assay_allowed=$assay_newline$(cat "$assay_in/submission.paths."*)$assay_newline
	assay_changed=$(
		assay_git diff-index --cached --no-renames --name-only HEAD
		{ cat "$assay_in/submission.patch."* && printf %s "$assay_ending"; } | assay_git apply --numstat 2>/dev/null
	) || assay_changed=$(assay_git diff-index --cached --no-renames --name-only HEAD)
	set -f
	IFS=$assay_newline
	for assay_line in $assay_changed; do
		IFS=' '
		assay_line=${assay_line##*"$assay_tab"}
		case $assay_allowed in
		*"$assay_newline$assay_line$assay_newline"*) ;;
		*)
			assay_message="the submission changes $assay_line, which it does not name in so many words"
			assay_patch_fails submission
			;;
		esac
	done
	unset IFS
	set +f
}

# git could not do its work here: a fault of the place, not of the patch.
assay_git_fails() {
	printf '%s\n' "$assay_message" >&6
	case $assay_message in
	*'No space left'* | *'Disk quota exceeded'*) assay_setup_fails StorageFull ;;
	*'Permission denied'* | *'Read-only file system'*) assay_setup_fails WorktreeReadOnly ;;
	*) assay_setup_fails GitFailed ;;
	esac
}

# --- Go without a network ------------------------------------------------------------------------------------------

# What the go command of the test commands may use: the module cache as it is, or the vendor folder of the module that
# the work tree is in, where it has one.  Says which as fact goOffline.
assay_shut_go() {
	GOPROXY=off GOSUMDB=off GOTOOLCHAIN=local
	export GOPROXY GOSUMDB GOTOOLCHAIN
	assay_folder=$PWD
	until [ -f "$assay_folder/go.mod" ] || [ -z "$assay_folder" ]; do
		assay_folder=${assay_folder%/*}
	done
	assay_modules=cache
	if [ -f "$assay_folder/go.mod" ] && [ -f "$assay_folder/vendor/modules.txt" ]; then
		assay_modules=vendor
		GOFLAGS="${GOFLAGS:+$GOFLAGS }-mod=vendor"
		export GOFLAGS
	fi
	assay_say fact goOffline "$assay_modules"
}

# --- commands -----------------------------------------------------------------------------------------------------

assay_command() {
	set +m
	if [ -n "$assay_setsid" ]; then
		exec setsid "$assay_shell" "$1" </dev/null >&5 2>&6 3>&- 4<&- 5>&- 6>&-
	fi
	exec "$assay_shell" "$1" </dev/null >&5 2>&6 3>&- 4<&- 5>&- 6>&-
}

assay_run() {
	assay_number=${1##*/}
	assay_say mark "command-$assay_number-begin"
	assay_bounded "$assay_test_seconds" assay_command "$1"
	if [ "$assay_rc" -ne 0 ] && [ -z "$assay_fired" ] && [ -f "$assay_in/collect/$assay_number" ]; then
		assay_failure=$assay_rc
		assay_bounded 60 assay_command "$assay_in/collect/$assay_number"
		assay_rc=$assay_failure
	fi
	assay_say mark "command-$assay_number-end"
	assay_say fact "exit-$assay_number" "$assay_rc"
	[ -z "$assay_fired" ] || assay_say fact "timeout-$assay_number" 1
	[ "$assay_first_failure" -ne 0 ] || assay_first_failure=$assay_rc
}

# The cgroup's count of processes killed for want of memory (version 1, then 2).
assay_oom_kills() {
	for assay_file in "$assay_cgroup/memory/memory.oom_control" "$assay_cgroup/memory.events"; do
		[ -r "$assay_file" ] || continue
		while read -r assay_key assay_value; do
			[ "$assay_key" != oom_kill ] || echo "$assay_value"
		done <"$assay_file"
		return
	done
}

assay_report_memory() {
	assay_kills_now=$(assay_oom_kills)
	[ -z "$assay_kills_now" ] || assay_say fact oomKills $((assay_kills_now - ${assay_kills_before:-0}))
	for assay_file in "$assay_cgroup/memory/memory.max_usage_in_bytes" "$assay_cgroup/memory.peak"; do
		[ -r "$assay_file" ] || continue
		read -r assay_value <"$assay_file" && assay_say fact memoryPeak "$assay_value"
		return
	done
}

# --- the run ------------------------------------------------------------------------------------------------------

trap 'assay_fired=1' ALRM
trap '[ -z "$assay_pid" ] || { assay_signal KILL; kill -KILL "$assay_dog"; }; exit 143' TERM

until [ -p "$assay_io/ack" ]; do
	sleep 0.02 2>/dev/null || sleep 1
done
exec 3>"$assay_io/ctl" 4<"$assay_io/ack" 5>"$assay_io/out" 6>"$assay_io/err"
printf '\nhello\n' >&3
IFS= read -r assay_token <&4 || exit 98

assay_monitor= assay_setsid=
if [ -n "${BASH_VERSION-}" ]; then
	assay_monitor=1
elif command -v setsid >/dev/null 2>&1; then
	assay_setsid=1
fi
assay_shell=sh
! command -v bash >/dev/null 2>&1 || assay_shell=bash
if [ -z "${HOME-}" ]; then
	HOME=/root
	[ -w "$HOME" ] || HOME=/tmp
	export HOME
fi

assay_say mark setup
assay_say fact shell "$assay_shell"
! command -v uname >/dev/null 2>&1 || assay_say fact machine "$(uname -m)"
[ -n "$assay_monitor" ] || assay_say fact interruptIgnored 1
assay_kills_before=$(assay_oom_kills)
if [ -n "$assay_workdir" ] && ! cd "$assay_workdir"; then
	assay_say fact setupFailed WorkdirMissing
	assay_end 95
fi
assay_say fact workdir "$PWD"
assay_bounded "$assay_setup_seconds" assay_setup
if [ -n "$assay_fired" ]; then
	assay_say fact setupFailed SetupTimeout
	assay_end 95
fi
[ "$assay_rc" -ne 98 ] || exit 98
[ "$assay_rc" -eq 0 ] || assay_end "$assay_rc"

[ "$assay_go_offline" != 1 ] || assay_shut_go
assay_first_failure=0
for assay_file in "$assay_in/commands/"*; do
	assay_run "$assay_file"
done
assay_report_memory
assay_end "$assay_first_failure"
