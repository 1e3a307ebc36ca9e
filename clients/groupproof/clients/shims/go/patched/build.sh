#!/bin/sh
# Builds the shim of kafka-go with two lines of kafka-go mended: segmentio/kafka-go#1156 (a subscription that says version 1 and ends
# before its OwnedPartitions) and #1128 (a leader that can't read subscriptions of version 1 and later). The module's sources are copied
# out of Go's cache into a folder of the build, patched there, and put in place by a `replace` of a go.mod of the build's own.
#
# usage: build.sh PROGRAM
set -eu
[ $# -eq 1 ] || { echo "usage: $0 PROGRAM" >&2; exit 3; }
here=$(cd "$(dirname "$0")" && pwd)
folder=$(dirname "$1")
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
program=$folder/$(basename "$1")
module=github.com/segmentio/kafka-go
cd "$here/.."
go mod download "$module"
sources=$folder/kafka-go.patched
rm -rf "$sources"
cp -R "$(go list -m -f '{{.Dir}}' "$module")" "$sources"
chmod -R u+w "$sources"
patch -s -p1 -d "$sources" < "$here/kafka-go.patch"
cp go.mod "$folder/patched.mod"
cp go.sum "$folder/patched.sum"
go mod edit -replace "$module=$sources" "$folder/patched.mod"
go build -modfile "$folder/patched.mod" -o "$program" ./kafkago
