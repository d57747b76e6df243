#!/bin/bash
# A Ray cluster inside a Slurm job: sbatch --nodes=4 cluster/slurm.sh run --layout ... --preset paper
# All arguments go to `cochef`; STORE is a directory that all nodes see. The environment with
# cochef[cluster] is activated by the submitting shell, or by ACTIVATE.
#SBATCH --job-name=cochef
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=24:00:00
#SBATCH --signal=B:TERM@120
set -euo pipefail

[ -z "${ACTIVATE:-}" ] || source "$ACTIVATE"
STORE=${STORE:-$SLURM_SUBMIT_DIR/store}
PORT=$((20000 + SLURM_JOB_ID % 20000))
export RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0

# A token for this job alone, in a file that only its owner reads and all nodes see.
umask 077
export RAY_AUTH_TOKEN_PATH=$SLURM_SUBMIT_DIR/.ray_token_$SLURM_JOB_ID
python -c 'import secrets; print(secrets.token_hex(32), end="")' >"$RAY_AUTH_TOKEN_PATH"

mapfile -t NODES < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
HEAD=${NODES[0]}
ADDRESS=$(srun --nodes=1 --ntasks=1 --nodelist="$HEAD" hostname --ip-address | awk '{print $1}')

# --block keeps a step alive as long as its node of the cluster; the steps end with the job.
start() { # NODE ARGUMENTS...
    srun --nodes=1 --ntasks=1 --nodelist="$1" --overlap \
        ray start "${@:2}" --num-cpus="$SLURM_CPUS_PER_TASK" --num-gpus="${SLURM_GPUS_ON_NODE:-0}" \
        --disable-usage-stats --block &
    STEPS+=($!)
}

STEPS=()
end() {
    kill "${STEPS[@]}" 2>/dev/null || true
    rm -f "$RAY_AUTH_TOKEN_PATH"
}
trap end EXIT

start "$HEAD" --head --node-ip-address="$ADDRESS" --port="$PORT" --include-dashboard=false
sleep 15
for NODE in "${NODES[@]:1}"; do start "$NODE" --address="$ADDRESS:$PORT"; done
sleep 15

# The driver runs on the first node. If the job's time is up, submit it again: it resumes.
srun --nodes=1 --ntasks=1 --nodelist="$HEAD" --overlap \
    cochef "$@" --engine ray --address "$ADDRESS:$PORT" --store "$STORE" \
    --job-cpus "$SLURM_CPUS_PER_TASK"
