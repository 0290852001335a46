#!/bin/sh
# A clean node in place of whatever container $1 was: a new root above this machine's files, and started.
# $1 its id; $2 what is laid over its root; $3 the memory limit in bytes.
set -eu
id=$1 files=$2 limit=$3
place=/run/nodes/$id
if [ -d "$place" ]; then
    lxc-stop -n "$id" -k 2> /dev/null || true
    umount "$place/root"
    rm -rf "$place" "/var/lib/lxc/$id"
fi
mkdir -p "$place/top" "$place/scratch" "$place/root" "/var/lib/lxc/$id"
mount -t overlay -o lowerdir=/run/base,upperdir="$place/top",workdir="$place/scratch" "node-$id" "$place/root"
cp -a "$files/." "$place/root/"
mkdir -p "$place/root/run/sshd" "$place/root/tmp"
chmod 1777 "$place/root/tmp"
{
    cat /etc/deep/common.conf
    echo "lxc.uts.name = node-$id"
    echo "lxc.rootfs.path = dir:$place/root"
    echo "lxc.namespace.share.net = /run/netns/n$id"
    echo "lxc.cgroup.dir.container = lxc/$id"
    echo "lxc.cgroup.dir.monitor = lxc.monitor/$id"
    echo "lxc.cgroup.memory.limit_in_bytes = $limit"
    sed -n 's|^dev[0-9]*: /\(.*\)|lxc.mount.entry = /\1 \1 none bind,create=file 0 0|p' "/etc/pve/lxc/$id.conf"
    for file in /var/lib/lxcfs/proc/*; do
        echo "lxc.mount.entry = $file proc/${file##*/} none bind,optional 0 0"
    done
} > "/var/lib/lxc/$id/config"
pct start "$id"
