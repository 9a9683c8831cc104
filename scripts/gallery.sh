#!/usr/bin/env bash
# Makes the pictures in docs/gallery by the program itself: scripts/gallery.sh PROGRAM DIRECTORY
#
# The demonstration is run, its answer is drawn as a picture of the terminal, and its report is
# written as a page. Where a Chromium is there, it takes the page's picture too.
set -euo pipefail
program=$(realpath "${1:?usage: scripts/gallery.sh PROGRAM DIRECTORY}")
gallery=${2:?usage: scripts/gallery.sh PROGRAM DIRECTORY}
mkdir -p "$gallery"
gallery=$(realpath "$gallery")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PLIMSOLL_DB=$work/studies.db

"$program" demo --quiet >/dev/null
"$program" show --svg "$gallery/answer.svg"
"$program" report --redact --force --output "$gallery/report.html" --svg "$gallery/charts"

# A page's picture in both themes; Chromium needs no sandbox for a page of our own.
for browser in chromium chromium-browser google-chrome; do
    command -v "$browser" >/dev/null || continue
    for theme in light dark; do
        scheme=0
        [ "$theme" = dark ] && scheme=1
        "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars \
            --user-data-dir="$work/profile" --window-size=1280,1600 \
            --blink-settings=preferredColorScheme=$((1 - scheme)) \
            --screenshot="$gallery/report-$theme.png" "file://$gallery/report.html" 2>/dev/null
    done
    exit 0
done
echo "no Chromium here: the page's own picture was not taken" >&2
