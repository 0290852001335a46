#!/bin/sh
# A clean guest in place of whatever guest $1 was: a new root above this machine's files, and started. A guest of qm's is a
# container inside its emulator, with hardware, driver and agent of its own in /run/deep/ID.
# $1 its id; $2 what is laid over its root; $3 the memory limit in bytes.
set -eu
id=$1 files=$2 limit=$3
place=/run/nodes/$id
if [ -e "/etc/pve/qemu-server/$id.conf" ]; then tool=qm; else tool=pct; fi
if [ -d "$place" ]; then
    if [ $tool = qm ]; then qm stop "$id"; else lxc-stop -n "$id" -k 2> /dev/null || true; fi
    umount "$place/root"
    rm -rf "$place" "/var/lib/lxc/$id"
fi
mkdir -p "$place/top" "$place/scratch" "$place/root" "/var/lib/lxc/$id"
mount -t overlay -o lowerdir=/run/base,upperdir="$place/top",workdir="$place/scratch" "node-$id" "$place/root"
if [ -d "$files/etc/systemd/system" ]; then
    rm -rf "$place/root/etc/systemd/system"  # this machine's own units are nobody's there
    init='/lib/systemd/systemd --log-target=null --show-status=0'
else
    init=/usr/sbin/deep-init
fi
cp -a "$files/." "$place/root/"
mkdir -p "$place/root/run/sshd" "$place/root/tmp"
chmod 1777 "$place/root/tmp"
lines() {
    cat /etc/deep/common.conf
    echo "lxc.init.cmd = $init"
    echo "lxc.uts.name = node-$id"
    # systemd would lay one of its own over what is mounted below.
    if [ "$init" != /usr/sbin/deep-init ]; then echo 'lxc.mount.entry = tmpfs run tmpfs rw,mode=755,create=dir 0 0'; fi
    echo "lxc.rootfs.path = dir:$place/root"
    echo "lxc.namespace.share.net = /run/netns/n$id"
    echo "lxc.cgroup.memory.limit_in_bytes = $limit"
    for file in /var/lib/lxcfs/proc/*; do
        echo "lxc.mount.entry = $file proc/${file##*/} none bind,optional 0 0"
    done
}
of_pct() {
    echo "lxc.cgroup.dir.container = lxc/$id"
    echo "lxc.cgroup.dir.monitor = lxc.monitor/$id"
    echo "lxc.mount.entry = /run/deep run/deep none bind,create=dir 0 0"
    sed -n 's|^dev[0-9]*: /\(.*\)|lxc.mount.entry = /\1 \1 none bind,create=file 0 0|p' "/etc/pve/lxc/$id.conf"
}
of_qm() {
    echo "lxc.cgroup.dir.container = qemu.slice/$id.scope/guest"
    echo "lxc.cgroup.dir.monitor = qemu.slice/$id.scope/kvm"
    echo "lxc.mount.entry = /run/deep/$id run/deep none bind,create=dir 0 0"
    for each in 0 1; do
        echo "lxc.mount.entry = /run/deep/$id/nvidia$each dev/nvidia$each none bind,create=file 0 0"
    done
}
{
    lines
    of_$tool
} > "/var/lib/lxc/$id/config"
$tool start "$id"
