#!/usr/bin/env bash
# A real SLURM on this machine, for tests: munged, slurmctld and one slurmd, without systemd.
#
#   tests/slurm/cluster.sh start     install Debian's packages if needed (root), start, wait for idle
#   tests/slurm/cluster.sh stop      end the daemons that were started here, by their pid files, and
#                                    remove the configuration
#
# All state is under $SLURM_TEST_STATE. There is no accounting daemon, so a profile must ask squeue.
set -euo pipefail

state=${SLURM_TEST_STATE:-${TMPDIR:-/tmp}/pe-audit-slurm}
conf=/etc/slurm/slurm.conf
host=$(hostname -s)

running() { [ -s "$1" ] && kill -0 "$(cat "$1")" 2>/dev/null; }

wait_for() { # what, seconds, command ...
    local what=$1 end=$((SECONDS + $2))
    shift 2
    until "$@" >/dev/null 2>&1; do
        if [ $SECONDS -ge $end ]; then
            echo "$what did not come up; see $state/log" >&2
            tail -n 20 "$state"/log/* >&2 || true
            exit 1
        fi
        sleep 0.2
    done
}

munge_works() { munge -n | unmunge; }
# A node of a real cluster keeps its own configuration.
ours() { grep -q '^ClusterName=pe-audit-test$' "$conf"; }
node_idle() { [ "$(sinfo -h -o %T)" = idle ]; }

install_packages() {
    command -v slurmctld slurmd munged >/dev/null && return
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends slurm-wlm munge >/dev/null
}

write_config() {
    if [ -e "$conf" ] && ! ours; then
        echo "$conf belongs to another cluster; a test cluster would overwrite it" >&2
        exit 1
    fi
    mkdir -p "$state"/{ctld,spool,log,run} "$(dirname "$conf")"
    # A little less than all memory, so that the node never reports less than it promised.
    local memory=$(($(awk '/^MemTotal/ {print int($2 / 1024)}' /proc/meminfo) - 1024))
    cat >"$conf" <<CONF
ClusterName=pe-audit-test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation=$state/ctld
SlurmdSpoolDir=$state/spool
SlurmctldPidFile=$state/run/slurmctld.pid
SlurmdPidFile=$state/run/slurmd.pid
SlurmctldLogFile=$state/log/slurmctld.log
SlurmdLogFile=$state/log/slurmd.log
# Containers seldom hand out cgroups: follow processes by their parents instead.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
# squeue is the only witness: it must remember finished jobs until Snakemake has asked.
MinJobAge=3600
ReturnToService=2
EnforcePartLimits=ALL
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=${SLURM_TEST_CPUS:-$(nproc)} RealMemory=$memory
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
}

start() {
    install_packages
    write_config
    if ! munge_works >/dev/null 2>&1; then
        install -d -o munge -g munge -m 0755 /run/munge
        install -d -o munge -g munge -m 0700 /etc/munge /var/log/munge /var/lib/munge
        [ -s /etc/munge/munge.key ] || (umask 077 && head -c 1024 /dev/urandom >/etc/munge/munge.key)
        chown munge:munge /etc/munge/munge.key
        setpriv --reuid=munge --regid=munge --clear-groups munged --force
        cp /run/munge/munged.pid "$state/run/munged.pid" 2>/dev/null || true
        wait_for munged 20 munge_works
        cp /run/munge/munged.pid "$state/run/munged.pid"
    fi
    running "$state/run/slurmctld.pid" || slurmctld -c
    running "$state/run/slurmd.pid" || slurmd -N "$host"
    wait_for "the node" 60 node_idle
    sinfo
}

stop() {
    local daemon pid
    for daemon in slurmd slurmctld munged; do
        running "$state/run/$daemon.pid" || continue
        pid=$(cat "$state/run/$daemon.pid")
        kill "$pid"
        for _ in $(seq 100); do
            kill -0 "$pid" 2>/dev/null || break
            sleep 0.1
        done
    done
    # A client that finds it waits for a controller that is gone: seconds in each start of Snakemake.
    [ ! -e "$conf" ] || ! ours || rm "$conf"
}

case ${1:-} in
start) start ;;
stop) stop ;;
*)
    echo "usage: $0 start | stop" >&2
    exit 2
    ;;
esac
