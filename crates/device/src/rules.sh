# Counts what is in the rules of nftables, and in those of the older iptables, which nftables does not list. Prints
# nothing of those that cannot be listed.
tab=$(printf '\t')
# Contents of sets may be long, and old versions print them all.
if nft list tables >/dev/null 2>&1; then
    { nft -a -t list ruleset 2>/dev/null || nft -a list ruleset 2>/dev/null; } | sed -n \
        -e 's/^table .*/nft tables/p' \
        -e "s/^${tab}chain .*/nft chains/p" \
        -e "s/^${tab}flowtable .*/nft flow_tables/p" \
        -e "s/^${tab}${tab}.*# handle [0-9]*\$/nft rules/p" | sort | uniq -c
    echo 'nft end'
fi
# Only tables that are there are listed, since listing another one may load its module. An iptables that writes to
# nftables has its rules there.
older() {
    tables=$(cat "/proc/net/$2" 2>/dev/null) || return 0
    if [ -n "$tables" ]; then
        for tool in "$1-legacy" "$1" ''; do
            [ -n "$tool" ] || return 0
            command -v "$tool-save" >/dev/null 2>&1 || continue
            case $("$tool" --version 2>/dev/null) in *nf_tables*) ;; *) break ;; esac
        done
        "$tool-save" 2>/dev/null | sed -n -e "s/^[*].*/$1 tables/p" -e "s/^-A .*/$1 rules/p" | sort | uniq -c
    fi
    echo "$1 end"
}
older iptables ip_tables_names
older ip6tables ip6_tables_names
