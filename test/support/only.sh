# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by scripts, with their arguments, before they do anything; they end with finish.
#
# Long scripts have parts, each under a heading "# -- what it is about --". only=WORD in the environment runs those whose
# heading has WORD in it, behind what stands before the first one. A part that goes on from another one, or leaves something
# to it, says so below its heading, "# needs: WORD of that heading", and is not run without it.

# only_parts WORD: this script, as far as WORD asks for it; functions are there, whatever part they stand in
only_parts() {
    awk -v word="$1" '
        function ask(word,    i, j, needs, n_needs) {
            for (i = 1; i <= n; i++)
                if (!asked[i] && index(heading[i], word)) {
                    asked[i] = 1
                    n_needs = split(needs_of[i], needs, "\n")
                    for (j = 1; j <= n_needs; j++)
                        ask(needs[j])
                }
        }
        /^# -- .* --$/ { heading[++n] = $0 }
        /^# needs: / { needs_of[n] = (needs_of[n] == "" ? "" : needs_of[n] "\n") substr($0, 10) }
        { line[NR] = $0 }
        END {
            ask(word)
            for (i = 1; i <= NR; i++) {
                part += line[i] ~ /^# -- .* --$/
                one_line = line[i] ~ /^[a-z_]+\(\) .*[^{(]$/
                if (line[i] ~ /^[a-z_]+\(\) /)
                    is_function = !one_line
                if (part == 0 || asked[part] || is_function || one_line)
                    print line[i]
                if (line[i] ~ /^[})]/)
                    is_function = 0
                any += asked[part]
            }
            print "cd /\nfinish"
            exit any == 0
        }' "$0"
}

if [ -n "${only:-}" ]; then
    script=$(only_parts "$only") || {
        printf 'no part of %s has "%s" in its heading; it has\n' "$(basename "$0")" "$only"
        sed -n 's/^# -- \(.*\) --$/    \1/p' "$0"
        exit 1
    }
    only='' exec bash -c "$script" "$0" "$@"
fi
