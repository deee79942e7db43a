# Read by the start scripts: where what they build lies, and how Go programs are built.
CACHE=$PWD/../../../node_modules/.cache/hookline-peers
mkdir -p "$CACHE"

# The exit status by which a peer says that the machine lacks what it needs: EX_UNAVAILABLE of sysexits.h.
lacking() {
  echo "$1" >&2
  exit 69
}

# Builds the Go module in this folder into the cache, unless it is there and newer than its sources.
build_go() {
  if [ -e "$CACHE/$1" ] && [ -z "$(find . -newer "$CACHE/$1" \( -name '*.go' -o -name 'go.*' \))" ]; then return; fi
  command -v go > /dev/null || lacking "go is not installed"
  GOFLAGS=-buildvcs=false go build -trimpath -ldflags="-s -w" -o "$CACHE/$1" . >&2 || lacking "$1 could not be built"
}
