"""A bad inventory: every problem at once, each where it stands, with what was expected and what was meant."""

import pytest

PROFILE = "engine: sglang, model: /m, ranks: 8, port: 30000"


def test_all_problems_of_both_files_are_told_at_once(wrong):
    fleet = "nodes:\n  n1: {adress: h, port: 0}\n  n2: {address: h, profile: hicache84}\n"
    assert wrong(fleet, "profiles:\n  hicache48: {engine: sgland, model: /m, ranks: 8}\n") == [
        "2:3: nodes.n1: `address` is missing: an IP address, a host name or an ssh_config alias",
        "2:8: nodes.n1: unknown key `adress`; expected address, user, port, hypervisor, guest, gpus, engine, source, profile, labels, machine-id, protected (did you mean `address`?)",
        "2:25: nodes.n1.port: expected a whole number from 1 to 65535, found `0`",
        "3:29: nodes.n2.profile: there is no profile `hicache84` (did you mean `hicache48`?)",
        "profiles.yaml:2:3: profiles.hicache48: `port` is missing: a whole number from 1 to 65535",
        "profiles.yaml:2:23: profiles.hicache48.engine: expected one of sglang, vllm, found `sgland` (did you mean `sglang`?)",
    ]


@pytest.mark.parametrize(
    ("node", "problem"),
    [
        ("", "`address` is missing"),
        ("address:", "expected an IP address, a host name or an ssh_config alias, found nothing"),
        ("address: -oProxyCommand=x", "expected an IP address"),
        ("address: 10.1.230.1744", "`10.1.230.1744` is neither an IP address nor a host name"),
        ("address: '10.0.0.1:22'", "an address has no port in it: write `address: 10.0.0.1` and `port: 22`"),
        ("address: 'fe80::g'", "neither an IP address nor a host name"),
        ("address: a b", "expected an IP address"),
        ("address: h, user: -l", "expected a login name, found `-l`"),
        ('address: h, user: "a\\eb"', r"expected a login name, found `a\x1bb`"),
        ("address: h, port: '22'", "found `22` (without quotes)"),
        ("address: h, port: 022", "expected a whole number from 1 to 65535, found `022`"),
        ("address: h, port: 65536", "expected a whole number from 1 to 65535"),
        ("address: h, port: 22.0", "expected a whole number from 1 to 65535"),
        ("address: h, protected: yes", "expected true or false, found `yes` (write true)"),
        ("address: h, machine-id: 5e0c", "expected 32 hexadecimal digits, found `5e0c`"),
        (f"address: h, machine-id: {'0' * 32}", "(YAML takes it for a number: quote it)"),
        ("address: h, gpus: -1", "expected a whole number from 0 to 1024"),
        ("address: h, engine: trtllm", "expected one of sglang, vllm, found `trtllm`"),
        ("address: h, source: ~/sglang", "expected an absolute path, found `~/sglang`"),
        ("address: h, labels: [a]", "expected a mapping of labels, found a list"),
        (
            "address: h, hypervisor: pve-01, guest: lxc",
            "expected a guest (a mapping with kind, id), found `lxc`",
        ),
        ("address: h, hypervisor: pve-01, guest: {kind: lcx, id: 174}", "(did you mean `lxc`?)"),
        ("address: h, hypervisor: pve-01, guest: {kind: lxc, id: 17}", "from 100 to 999999999"),
        ("address: h, machine_id: x", "unknown key `machine_id`"),
        ("address: h, machine_id: x", "(did you mean `machine-id`?)"),
    ],
)
def test_a_nodes_values_are_judged(wrong, node, problem):
    found = wrong(f"hypervisors: {{pve-01: {{address: pve}}}}\nnodes:\n  n1: {{{node}}}\n")
    assert len(found) == 1
    assert found[0].startswith("3:")
    assert problem in found[0]


@pytest.mark.parametrize("name", ["-n", ".n", "a b", "a/b", "n:1", "né", "a" * 64, "$(x)", '"a\\nb"', "''"])
def test_names_are_safe_tokens(wrong, name):
    for section in ("nodes", "hypervisors", "groups", "profiles"):
        body = {"groups": "[n1]", "profiles": f"{{{PROFILE}}}"}.get(section, "{address: h}")
        rest = "" if section == "nodes" else "nodes: {n1: {address: n}}\n"
        found = wrong(f"{section}: {{{name}: {body}}}\n{rest}")
        assert [
            problem
            for problem in found
            if f"{section}: " in problem and "is not a name of letters" in problem
        ]


@pytest.mark.parametrize(
    ("fleet", "problems"),
    [
        (
            "hypervisors: {pve-01: {address: p}}\nnodes: {n: {address: h, hypervisor: pve-1, guest: {kind: lxc, id: 174}}}",
            ["2:37: nodes.n.hypervisor: there is no hypervisor `pve-1` (did you mean `pve-01`?)"],
        ),
        (
            "nodes: {n: {address: h, guest: {kind: lxc, id: 174}}}",
            [
                "1:32: nodes.n.guest: n is a guest, but of no hypervisor (add `hypervisor: NAME`, or leave `guest` out on bare metal)"
            ],
        ),
        (
            "hypervisors: {p: {address: p}}\nnodes: {n: {address: h, hypervisor: p}}",
            [
                "2:37: nodes.n.hypervisor: which guest n is there is not said (add `guest: {kind: lxc, id: NUMBER}`, or leave `hypervisor` out on bare metal)"
            ],
        ),
        (
            "hypervisors: {p: {address: p}}\nnodes:\n  a: {address: a, hypervisor: p, guest: {kind: lxc, id: 174}}\n  b: {address: b, hypervisor: p, guest: {kind: vm, id: 174}}\n",
            ["4:41: nodes.b.guest: guest 174 of p is a already"],
        ),
        (
            "nodes:\n  a: {address: h.lan}\n  b: {address: H.lan, port: 22}\n  c: {address: h.lan, port: 23}\n",
            ["3:16: nodes.b.address: H.lan port 22 is a's too"],
        ),
        (
            f"nodes:\n  a: {{address: a, machine-id: {'ab' * 16}}}\n  b: {{address: b, machine-id: {'AB' * 16}}}\n",
            ["3:31: nodes.b.machine-id: this machine-id is a's too"],
        ),
        (
            "hypervisors: {a: {address: p}}\nnodes: {a: {address: h}}",
            ["2:9: nodes.a: a hypervisor has this name too"],
        ),
        (
            f"nodes: {{n: {{address: h, engine: vllm, profile: p}}}}\nprofiles: {{p: {{{PROFILE}}}}}",
            ["1:48: nodes.n.profile: profile `p` is for sglang, and n runs vllm"],
        ),
        (
            f"nodes: {{n: {{address: h, gpus: 4, profile: p}}}}\nprofiles: {{p: {{{PROFILE}}}}}",
            ["1:43: nodes.n.profile: profile `p` has 8 ranks, and n 4 GPUs"],
        ),
        ("hypervisors: {}", ["1:1: `nodes` is missing: a mapping of nodes"]),
        ("[a]", ["1:1: the file: expected a fleet (a mapping with nodes), found a list"]),
    ],
)
def test_entries_must_agree(wrong, fleet, problems):
    assert wrong(fleet) == problems


def test_a_profile_stands_in_one_file_only(wrong):
    found = wrong(f"nodes: {{}}\nprofiles: {{p: {{{PROFILE}}}}}", f"profiles: {{p: {{{PROFILE}}}}}")
    assert len(found) == 1
    assert found[0].startswith("profiles.yaml:1:12: profile `p` is defined at ")
    assert found[0].endswith("fleet.yaml:2:12 already")


def test_hosts_do_not_belong_into_the_file_of_profiles(wrong):
    found = wrong("nodes: {}", "nodes: {}\nprofiles: {}\n")
    assert found == ["profiles.yaml:1:1: unknown key `nodes`; expected profiles"]


def test_one_mistake_is_told_once_and_not_wherever_its_name_is_used(wrong):
    fleet = (
        "hypervisors: {p: {adress: x}}\nnodes: {n: {address: h, hypervisor: p, guest: {kind: lxc, id: 174}, profile: q}}\n"
        "profiles: {q: 1}\ngroups: {g: [n, p]}\n"
    )
    assert [problem.split(":")[0] for problem in wrong(fleet)] == ["1", "1", "3"]


@pytest.mark.parametrize(
    ("patterns", "problem"),
    [
        ("n9", 'expected a list of host patterns, found `n9` (write ["n9"])'),
        ("[]", "expected a list of host patterns, found an empty list"),
        ("[n9]", "groups.g[0]: no host is named `n9`"),
        ("[nod-171]", "no host is named `nod-171` (did you mean `node-171`?)"),
        ("['node-[1-9]']", "no host matches `node-[1-9]`"),
        ("['node-*', '!node-177']", "groups.g[1]: no host is named `node-177`"),
        ("['@other']", "there is no group `@other`"),
        ("['@g']", "the group @g contains itself: @g -> @g"),
        ("['node-[3-1]']", "runs backwards"),
        ("['node 171']", "no host is named `node 171`"),
        ("['node;171']", "`node;171` is not a host pattern"),
        ("['node-*', '!node-[171-172]']", "groups.g: no host is left in it"),
    ],
)
def test_a_group_names_hosts_that_exist(wrong, patterns, problem):
    found = wrong(
        f"nodes: {{node-171: {{address: a}}, node-172: {{address: b}}}}\ngroups: {{g: {patterns}}}\n"
    )
    assert len(found) == 1
    assert problem in found[0]


def test_groups_in_a_circle_are_refused_each_with_the_chain(wrong):
    found = wrong("nodes: {n: {address: h}}\ngroups:\n  a: ['@b']\n  b: ['@c']\n  c: [n, '@a']\n")
    assert [problem.partition("itself: ")[2] for problem in found] == [
        "@a -> @b -> @c -> @a",
        "@b -> @c -> @a -> @b",
        "@c -> @a -> @b -> @c",
    ]


@pytest.mark.parametrize(
    ("profile", "problem"),
    [
        ("engine: sglang, model: -x, ranks: 8, port: 1", "expected a model's folder or name"),
        ("engine: sglang, model: /m, ranks: 0, port: 1", "expected a whole number from 1 to 1024"),
        (f"{PROFILE}, command: python3", 'found `python3` (write ["python3"])'),
        (f"{PROFILE}, command: []", "found an empty list"),
        (f"{PROFILE}, environment: {{A-B: x}}", "`A-B` is not a variable's name"),
        (f'{PROFILE}, environment: {{A: "x\\ny"}}', "expected text without line breaks or NUL"),
        (f'{PROFILE}, environment: {{A: "x\\0y"}}', "expected text without line breaks or NUL"),
        (
            f"{PROFILE}, host-memory: {{reserve: 40}}",
            "expected a size like `40 GB` or `16GiB`, found `40` (the unit is missing)",
        ),
        (f"{PROFILE}, host-memory: {{floor: 0 GB}}", "(more than nothing)"),
        (f"{PROFILE}, ready-deadline: 15", "found `15` (the unit is missing)"),
        (f"{PROFILE}, ready-deadline: 0s", "(more than nothing)"),
        (f"{PROFILE}, watch: 2 min", "expected a duration like `30s`, `15m` or `1h30m`, found `2 min`"),
    ],
)
def test_a_profiles_values_are_judged(wrong, profile, problem):
    found = wrong(f"nodes: {{}}\nprofiles: {{p: {{{profile}}}}}\n")
    assert len(found) == 1
    assert problem in found[0]


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        ("--tp-size: 8", "`--tp-size` is not a flag's name, without the leading dashes"),
        ("enable-metrics:", "(write true for a flag without a value)"),
        ("enable-metrics: yes", "(write true, or quote it to mean the word)"),
        ("a: [1]", "expected a plain value, or {value, unit, scope}, found a list"),
        ("a: 007", "(quote it to pass it on as it stands)"),
        ("a: .inf", "(quote it to pass it on as it stands)"),
        ("hicache-size: 1, hicache_size: 1", "`hicache_size` and `hicache-size` are the same flag"),
        ("port: 1", "set by the profile's `port`"),
        ("model-path: /x", "set by the profile's `model`"),
        ("tp-size: 4", "tensor-parallel 4 x pipeline-parallel 1 is not the profile's 8 ranks"),
        ("pp_size: 2", "tensor-parallel 8 x pipeline-parallel 2 is not the profile's 8 ranks"),
        (
            "hicache-size: 48 GB",
            "the unit does not belong in the value (write {value: 48, unit: GB, scope: per-rank}",
        ),
        ("hicache-size: {unit: GB}", "`value` is missing"),
        ("hicache-size: {value: 48, unit: gb}", "(did you mean `GB`?)"),
        ("hicache-size: {value: 48, scope: rank}", "(did you mean `per-rank`?)"),
        (
            "hicache-size: {value: 48, units: GB}",
            "unknown key `units`; expected value, unit, scope (did you mean `unit`?)",
        ),
        ("hicache-size: {value: lots, unit: GB}", "a value in GB is a number from 0 up, or auto"),
        ("hicache-size: {value: -1, unit: GB}", "a value in GB is a number from 0 up, or auto"),
        (
            "a: {value: auto, unit: tokens, scope: total}",
            "`auto` is for sizes: its unit is one of GB, GiB, MB, MiB, bytes",
        ),
        ("hicache-size: auto, swap-space: auto", "only one flag can be auto, and `hicache-size` is"),
        ("a: {value: auto}, b: {value: auto, scope: total}", "only one flag can be auto, and `a` is"),
        (
            "a: {value: auto, unit: GB, scope: total}, b: {value: auto, unit: GB, scope: total}",
            "only one flag can be auto, and `a` is",
        ),
    ],
)
def test_a_profiles_flags_are_judged(wrong, flags, problem):
    found = wrong(f"nodes: {{}}\nprofiles: {{p: {{{PROFILE}, flags: {{{flags}}}}}}}\n")
    assert len(found) == 1
    assert problem in found[0]


@pytest.mark.parametrize(
    "flags",
    [
        "tp: 8",
        "tp-size: 4, pp-size: 2",
        "dtype: auto, kv-cache-dtype: auto",
        "hicache-size: auto",
        "hicache-size: {value: auto}",
        "hicache-size: {value: auto, unit: GB}",
        "hicache-size: auto, kv-cache-dtype: auto",
    ],
)
def test_flags_that_agree_with_the_profile_are_fine(write, flags):
    from fleetops.inventory import load_inventory

    assert (
        load_inventory(write(f"nodes: {{}}\nprofiles: {{p: {{{PROFILE}, flags: {{{flags}}}}}}}\n"))
        .profiles["p"]
        .flags
    )


@pytest.mark.parametrize("entry", ['environment: {HF_TOKEN: "hunter2\\n"}', "flags: {api-key: 0123456}"])
def test_a_secret_is_not_shown_in_a_problem(wrong, entry):
    (problem,) = wrong(f"nodes: {{}}\nprofiles: {{p: {{{PROFILE}, {entry}}}}}\n")
    assert "hunter2" not in problem
    assert "0123456" not in problem
