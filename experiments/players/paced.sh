#!/bin/sh
# Reads a file as a player does, and says how often and for how long it would have stalled.
#
#   paced.sh FILE RATE BUFFER START SECONDS REQUEST
#
# RATE is in bytes per second. The player reads REQUEST bytes at a time while its buffer of BUFFER bytes has room. It
# shows the film from START bytes on. A stall begins when the buffer is empty, and ends when it has START bytes again. The
# result is a line: "stalls COUNT longest CENTISECONDS first CENTISECONDS". Only dd, sleep and the shell are needed, so
# that it runs on machines without Python too. Each request starts two processes at most: an emulated machine takes a
# hundredth of a second for one.
set -eu
file=$1 rate=$2 buffer=$3 start=$4 seconds=$5 request=$6

# Bytes of the film that were received and shown; when `shown` was true; when the buffer ran dry.
received=0 shown=0 since=0 dry=0
playing=false
stalls=0 longest=0 first=-1

# The time in hundredths of a second.
clock() {
    read -r up _ </proc/uptime
    now=${up%.*}${up#*.}
}

# Shows the film until now, or until the buffer is empty.
advance() {
    clock
    if $playing; then
        reached=$((shown + rate * (now - since) / 100))
        if [ "$reached" -gt "$received" ]; then
            dry=$((since + 100 * (received - shown) / rate))
            shown=$received playing=false
        else
            shown=$reached
        fi
    fi
    since=$now
}

note_stall() {
    stalls=$((stalls + 1))
    [ $((now - dry)) -le "$longest" ] || longest=$((now - dry))
}

exec 3<"$file"
clock
begun=$now end=$((now + 100 * seconds))
while [ "$now" -lt "$end" ]; do
    advance
    missing=$((received - shown + request - buffer))
    if $playing && [ "$missing" -gt 0 ]; then
        pause=$((100 * missing / rate + 1))
        hundredths=$((100 + pause % 100))
        sleep "$((pause / 100)).${hundredths#1}"
        continue
    fi
    dd bs=$request count=1 iflag=fullblock <&3 >/dev/null 2>&1
    advance
    received=$((received + request))
    if ! $playing && [ $((received - shown)) -ge "$start" ]; then
        if [ "$first" -lt 0 ]; then first=$((now - begun)); else note_stall; fi
        playing=true
    fi
done
# A stall that has not ended.
if ! $playing && [ "$first" -ge 0 ]; then note_stall; fi
echo "stalls $stalls longest $longest first $first"
