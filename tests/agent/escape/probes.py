"""What an attempt tries in order to get out: each a shell command that ends with 0 if it did."""

# Read, written, signalled or filled by somebody who must not. `$AGENT`, `$SHIM` and `$VICTIM` are
# process ids outside; `$STATE`, `$THEIRS` (the run of another tenant's attempt),
# `$THEIR_CHECKPOINTS`, `$OTHER_GPU` and `$SETUID` are paths outside. A signal that does no harm
# shows that one could.
PROBES = {
    "read the agent's token": "cat $STATE/identity.json",
    "read the journal": "cat $STATE/journal.jsonl",
    "write the journal": "echo x >> $STATE/journal.jsonl",
    "prolong the lease": "echo x >> $STATE/lease.json",
    "list the agent's state": "ls $STATE | grep -q journal",
    "plant a run": "mkdir $STATE/runs/9-9",
    "read the agent's environment": "cat /proc/$AGENT/environ | grep -q .",
    "read the agent's memory": "dd if=/proc/$AGENT/mem bs=1 count=0",
    "list the agent's files": "ls /proc/$AGENT/fd | grep -q .",
    "stop the agent": "kill -CONT $AGENT",
    "end a shim": "kill -CONT $SHIM",
    "trace a shim": "cat /proc/$SHIM/syscall | grep -q .",
    "list what its shim has written": "ls $PWD/.. | grep -q claim",
    "forge its exit code": "echo x >> $PWD/../exit.json",
    "forge its log": "echo x >> $PWD/../stdout.log",
    "read another tenant's file": "cat $THEIRS/work/secret.txt",
    "write beside another tenant's file": "touch $THEIRS/work/planted",
    "read another tenant's log": "cat $THEIRS/stdout.log",
    "read another tenant's secret": "cat $THEIRS/secrets/key",
    "read another tenant's checkpoint": "cat $THEIR_CHECKPOINTS/saved",
    "plant a checkpoint": "touch $THEIR_CHECKPOINTS/planted",
    "read another tenant's environment": "cat /proc/$VICTIM/environ | grep -q .",
    "read another tenant's memory": "dd if=/proc/$VICTIM/mem bs=1 count=0",
    "walk into another tenant's directory": "ls /proc/$VICTIM/cwd/ | grep -q secret",
    "end another tenant's process": "kill -CONT $VICTIM",
    "read another tenant's shared memory": "cat /dev/shm/$VICTIM_SHM",
    "open another's GPU": "dd if=$OTHER_GPU bs=1 count=0",
    "become root by a setuid program": 'test "$($SETUID -u)" = 0',
    "leave a setuid program that is root's": "cp $SETUID mine; chmod 4755 mine; "
    'test "$(./mine -u)" = 0',
    "write where the host's programs are": "test -w /usr || test -w /etc",
    "change the kernel": "test -w /proc/sys/kernel/core_pattern",
    "mount something": "mkdir mnt; mount -t tmpfs none mnt && umount mnt",
    "leave its control group": "echo $$ > /sys/fs/cgroup/memory/cgroup.procs ||"
    " echo $$ > /sys/fs/cgroup/cgroup.procs",
    "reach the network": "grep -v -e lo: -e '|' /proc/net/dev | grep -q :",
    "reach a server of this host": 'cat /proc/net/tcp | grep -q ":$PORT "',
    "take all memory": "dd if=/dev/zero of=/dev/null bs=400M count=1",
    "start processes without end": "i=0; n=0; while test $i -lt 150; do sleep 30 & "
    'pids="$pids $!"; i=$((i + 1)); done; '
    "for p in $pids; do kill $p && n=$((n + 1)); done; test $n -eq 150",
}

# In many files: no limit of one file's size ends it.
FILL_THE_DISK = (
    "i=0; while :; do dd if=/dev/zero of=big$i bs=1M count=4 2>/dev/null || sleep 0.1; "
    "i=$((i + 1)); test $i -gt 100 && sleep 60; done"
)


def script() -> str:
    """Prints `refused NAME` or `escaped NAME`, each in a shell of its own, and ends well."""
    lines = [
        f"(export LC_ALL=C; {command}) >/dev/null 2>&1 && echo 'escaped {_quoted(name)}'"
        f" || echo 'refused {_quoted(name)}'"
        for name, command in PROBES.items()
    ]
    own = "dd if=$OWN_GPU bs=1 count=0 2>/dev/null && echo 'own GPU open'"
    return "\n".join([*lines, own, "exit 0"])


def _quoted(text: str) -> str:
    return text.replace("'", "`")
