#!/bin/sh
# pvesh get, as far as it is asked here: the containers, and no task.
case "$1 $2" in
'get /cluster/resources')
    pct list | tail -n +2 | while read -r id status rest; do
        name=$(sed -n 's/^hostname: //p' "/etc/pve/lxc/$id.conf")
        lock=$(sed -n 's/^lock: \(.*\)/,"lock":"\1"/p' "/etc/pve/lxc/$id.conf")
        printf '{"id":"lxc/%s","type":"lxc","vmid":%s,"name":"%s","status":"%s","node":"%s","template":0%s}\n' \
            "$id" "$id" "$name" "$status" "$(hostname)" "$lock"
    done | paste -s -d , | sed 's/^/[/; s/$/]/'
    ;;
'get /nodes/localhost/tasks') echo '[]' ;;
*) echo "No '$1' handler defined for '$2'" >&2; exit 2 ;;
esac
