#!/bin/sh
# pct, as far as it is asked here: thin over LXC's own tools, in the forms, exit codes and locks of pve-container.
die() { echo "$1" >&2; exit "${2:-255}"; }
verb=${1:-help} id=${2:-}
folder=/etc/pve/lxc
# As Proxmox's: whatever has a first process runs, a frozen one too.
state() { case $(lxc-info -n "$1" -s -H 2> /dev/null) in '' | STOPPED) echo stopped ;; *) echo running ;; esac; }
value() { sed -n -e '/^\[/q' -e "s/^$2: //p" "$folder/$1.conf"; }
if [ "$verb" = list ]; then
    set -- "$folder"/*.conf
    [ -e "$1" ] || exit 0
    printf '%-10s %-10s %-12s %-20s\n' VMID Status Lock Name
    for file in "$@"; do
        id=${file##*/} id=${id%.conf}
        printf '%-10s %-10s %-12s %-20s\n' "$id" "$(state "$id")" "$(value "$id" lock)" "$(value "$id" hostname)"
    done
    exit 0
fi
[ -n "$id" ] || die '400 not enough arguments'
[ -e "$folder/$id.conf" ] || die "Configuration file 'nodes/$(hostname)/lxc/$id.conf' does not exist" 2
locked() {
    lock=$(value "$id" lock)
    [ -z "$lock" ] || die "CT is locked ($lock)"
    mkdir -p /run/lock/lxc
    exec 9> "/run/lock/lxc/pve-config-$id.lock"
    flock -n 9 && return
    echo 'trying to acquire lock...' >&2
    flock -w 10 9 || die "can't lock file '/run/lock/lxc/pve-config-$id.lock' - got timeout"
}
case $verb in
status) echo "status: $(state "$id")" ;;
config) sed '/^\[/,$d' "$folder/$id.conf" | grep -v '^lxc\.' | sort; sed '/^\[/,$d' "$folder/$id.conf" | grep '^lxc\.' || true ;;
pending) sed '/^\[/,$d' "$folder/$id.conf" | grep -v '^lxc\.' | sort | sed 's/^/cur /' ;;
start)
    locked
    [ "$(state "$id")" = stopped ] || die "CT $id already running"
    # The lock is the command's, not the container's.
    lxc-start -n "$id" -d -l ERROR -o "/run/lxc-$id.log" 9>&- || die "startup for container '$id' failed"
    ;;
stop)
    locked
    [ "$(state "$id")" = running ] || die "CT $id not running"
    lxc-stop -n "$id" --kill 9>&- || die "command 'lxc-stop -n $id --kill' failed: exit code $?"
    ;;
*) die "ERROR: unknown command 'pct $*'" ;;
esac
