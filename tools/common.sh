# What ./demo and ./check share. Sourced, not run. Needs: $top, the project's folder.

# One line of progress.
step() { printf '== %s\n' "$*"; }

# Runs a command quietly; shows its output only if it fails.
quietly() {
    local log
    log=$(mktemp)
    if ! "$@" >"$log" 2>&1; then
        tail -n 60 "$log"
        printf 'failed: %s\n' "$*" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

# The Debian packages that the build needs; $1 = all: and those of the tests.
packages() {
    echo gcc libc6-dev meson ninja-build pkg-config python3 binutils llvm-19-dev lld-19 clang-19 libclang-rt-19-dev liblz4-dev \
        libzstd-dev libxxhash-dev libhwloc-dev
    if [ "${1:-}" = all ]; then echo libcmocka-dev clang-format-14 g++ procps; fi
}

# Installs those of the given packages that are missing. Needs root only if one is.
install_packages() {
    local missing=() name
    for name in "$@"; do
        dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'install ok installed' || missing+=("$name")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    command -v apt-get >/dev/null || {
        echo "these Debian packages (or your system's like) are needed: ${missing[*]}" >&2
        return 1
    }
    if [ "$(id -u)" != 0 ]; then
        echo "not root; please run: sudo apt-get install --no-install-recommends ${missing[*]}" >&2
        return 1
    fi
    step "installing ${#missing[@]} packages"
    DEBIAN_FRONTEND=noninteractive quietly apt-get install -y --no-install-recommends "${missing[@]}" || {
        DEBIAN_FRONTEND=noninteractive quietly apt-get update
        DEBIAN_FRONTEND=noninteractive quietly apt-get install -y --no-install-recommends "${missing[@]}"
    }
}

# configure DIR OPTIONS…: sets up a build folder once, or again when it is broken or was made where the project stood before it
# was moved. The prefix is build/ itself: what is installed there works in place.
configure() {
    local dir=$1
    shift
    [ -f "$dir/build.ninja" ] && grep -qsxF "prefix = $top/build" "$dir/meson-private/cmd_line.txt" && return 0
    rm -rf "$dir"
    quietly meson setup "$dir" "$top" --prefix "$top/build" --libdir lib "$@"
}

# Builds the folder and installs into build/.
build_and_install() {
    quietly ninja -C "$1" && quietly meson install -C "$1" --no-rebuild --only-changed
}
