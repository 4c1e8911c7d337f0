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

. "${0%/*}/git.sh"

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
assay_pid= assay_fired= assay_token=

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

# assay_fails REASON [WORDS]: the set-up does.
assay_fails() {
	[ -z "${2-}" ] || printf '%s\n' "$2" >&6
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

assay_setup() {
	set +m
	trap - TERM ALRM
	if ! command -v git >/dev/null 2>&1; then
		[ -z "$assay_patches" ] || assay_fails GitMissing
		exit 0
	fi
	if ! assay_find_repository; then
		[ -z "$assay_patches" ] || assay_fails "$assay_reason" "$assay_words"
		exit 0
	fi
	assay_say fact head "$assay_head"
	[ -z "$assay_base" ] || assay_say fact base "$(assay_base_is)"
	assay_find_dirt
	assay_say fact dirty "$assay_dirty"
	[ "$assay_dirty" -eq 0 ] || exit 96
	for assay_patch in $assay_patches; do
		assay_apply "$assay_patch"
		[ "$assay_patch" != submission ] || assay_confine
	done
	exit 0
}

assay_note_dirt() {
	assay_say fact "dirtyPath-$assay_dirty" "$1"
}

# Applies one patch exactly: first blob to blob through our own index, so that no byte outside of the hunks changes even
# where attributes ask for another line end; then, for files that HEAD does not know, as plain "git apply" does.
assay_apply() {
	assay_last=
	for assay_chunk in "$assay_in/$1.patch."*; do
		[ -f "$assay_chunk" ] || assay_fails PatchMissing
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
	*'No space left'* | *'Disk quota exceeded'* | *'Permission denied'* | *'Read-only file system'*)
		assay_git_fails "$assay_message"
		;;
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

assay_begin ack
exec 3>"$assay_io/ctl" 4<"$assay_io/ack" 5>"$assay_io/out" 6>"$assay_io/err"
printf '\nhello\n' >&3
IFS= read -r assay_token <&4 || exit 98

assay_monitor= assay_setsid=
if [ -n "${BASH_VERSION-}" ]; then
	assay_monitor=1
elif command -v setsid >/dev/null 2>&1; then
	assay_setsid=1
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
