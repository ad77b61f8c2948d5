# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced behind common.sh: replicas of all files come and go, while programs use them.
# shellcheck disable=SC2154  # variables are common.sh's

churning=

churn_on() {
    local layouts=('one' 'stripe(4K)' 'stripe(1000,3)' 'stripe(64K) disp 100') path n=0
    while [ ! -e "$work/churned" ]; do
        while read -r -d '' path; do
            n=$((n + 1))
            "$fallsctl" replica add -L "${layouts[n % 4]}" --on-write "$([ $((n % 3)) = 0 ] && echo drop || echo update)" \
                "$path" && echo added >>"$work/churn"
            [ $((n % 2)) = 0 ] || "$fallsctl" replica drop "$((n % 7 + 1))" "$path"
        done < <(find "$mnt" -type f -print0 2>/dev/null)
    done
}

# Replicas come and go below $mnt from now on, until churn_stop.
churn_start() {
    rm -f "$work/churned" "$work/churn"
    churn_on >/dev/null 2>&1 &
    churning=$!
}

churn_stop() {
    : >"$work/churned"
    wait "$churning"
    ok 'replicas came' grep -q added "$work/churn"
}
