# Counts what is in the rules of nftables. Prints nothing where they cannot be listed.
nft list tables >/dev/null 2>&1 || exit 0
tab=$(printf '\t')
# Contents of sets may be long, and old versions print them all.
{ nft -a -t list ruleset 2>/dev/null || nft -a list ruleset 2>/dev/null; } | sed -n \
    -e 's/^table .*/nft tables/p' \
    -e "s/^${tab}chain .*/nft chains/p" \
    -e "s/^${tab}flowtable .*/nft flow_tables/p" \
    -e "s/^${tab}${tab}.*# handle [0-9]*\$/nft rules/p" | sort | uniq -c
echo 'nft end'
