#!/bin/bash
# A Ray cluster by hand. On the first machine:   cluster/by_hand.sh head ADDRESS
# then on every other one:                       cluster/by_hand.sh node ADDRESS
# and to end it, on each:                        cluster/by_hand.sh stop
# ADDRESS is the first machine's in a private network. All machines need the same token file,
# ~/.ray/auth_token: the first call makes it, copy it to the others (scp -p).
set -euo pipefail

export RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0
PORT=${PORT:-6379}

case "${1:-}" in
head)
    [ -s ~/.ray/auth_token ] || ray get-auth-token --generate >/dev/null
    chmod 600 ~/.ray/auth_token
    ray start --head --node-ip-address="$2" --port="$PORT" --include-dashboard=false --disable-usage-stats
    echo "now: cochef run ... --engine ray --address $2:$PORT --store DIRECTORY_OR_URL"
    ;;
node)
    [ -s ~/.ray/auth_token ] || { echo "copy ~/.ray/auth_token from $2 first" >&2; exit 1; }
    ray start --address="$2:$PORT" --disable-usage-stats
    ;;
stop)
    ray stop
    ;;
*)
    sed -n '2,6p' "$0"
    exit 2
    ;;
esac
