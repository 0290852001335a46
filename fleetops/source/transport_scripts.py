"""What runs on a node to read an engine's source: constant POSIX scripts; folders and names reach them as arguments.

They need find, sort, xargs, grep, sha256sum, awk, tr, gzip and base64, GNU's or busybox's. Links are followed, as
Python follows them, and loops of links are not.
"""

from fleetops.source.text import GIANT_BYTES

NO_FOLDER, TOO_MUCH = 66, 75
END = "end"

_HEAD = r"""
LC_ALL=C
export LC_ALL
unset GREP_OPTIONS GREP_COLORS POSIXLY_CORRECT
unset CDPATH
cd -- "$1" || exit 66
"""

# sha256sum marks a name in which it spelled a backslash or a line break, and spells them as C does.
_NAMES = r"""
function plain(name,    text, at, one) {
  for (at = 1; at <= length(name); at++) {
    one = substr(name, at, 1)
    if (one == "\\") {
      one = substr(name, ++at, 1)
      if (one == "n") one = "\n"
      if (one == "r") one = "\r"
    }
    text = text one
  }
  return text
}
function take(line,    spelled) {
  spelled = sub(/^\\/, "", line)
  hash = substr(line, 1, 64)
  name = substr(line, 69)
  if (spelled) name = plain(name)
}
"""

# Prints `files N`, then the digest as source/tree.py's `tree_digest` has it: over `path NUL sha256`, sorted by path.
DIGEST = (
    _HEAD
    + r"""
{
  find -L . -type f -name '*.py' -print0 | sort -z | xargs -0r sha256sum -- |
    awk '"""
    + _NAMES
    + r"""
      { take($0); printf "%s\036%s\n", name, hash }
      END { print "files", NR | "cat >&3" }' |
    tr '\036' '\000' | sha256sum
} 3>&1
echo end
"""
)

# $2: how much may travel, in bytes; then the wanted names. stdin: the sha256 of what need not travel, one a line.
# Prints `hash  ./path` of every file that mentions a name, then `sizes`, the sizes of the files that travel (in the
# order of the first mention of each hash), then `content`, and all of them one after the other.
# A file that is too large, or whose name holds control characters, is named as left out.
FETCH = (
    _HEAD
    + r"""
limit=$2
shift 2
for name; do
  shift
  set -- "$@" -e "$name"
done
known=$(cat)
mentioning() { xargs -0r grep -lwF "$@" --; }
each() { tr '\n' '\000' | xargs -0r "$@"; }
found=$(find -L . -type f -name '*.py' ! -path '*[[:cntrl:]]*' ! -size +GIANTk -print0 | mentioning "$@" | sort)
odd=$(find -L . -type f -name '*.py' \( -path '*[[:cntrl:]]*' -o -size +GIANTk \) -print0 | mentioning "$@")
if [ -n "$odd" ]; then printf 'odd %.200s\n' "$(printf %s "$odd" | tr '[:cntrl:]' '?')"; fi
if [ -n "$found" ]; then
  sums=$(printf '%s\n' "$found" | each sha256sum --)
  printf '%s\n' "$sums"
  missing=$(printf '%s\n' "$known" -- "$sums" | awk '"""
    + _NAMES
    + r"""
    !listed && $0 == "--" { listed = 1; next }
    !listed { known[$0] = 1; next }
    { take($0); if (!(hash in known)) { known[hash] = 1; print "./" name } }')
  if [ -n "$missing" ]; then
    sizes=$(printf '%s\n' "$missing" | each wc -c -- | awk '$2 != "total" { print $1 }')
    echo sizes
    printf '%s\n' "$sizes"
    printf '%s\n' "$sizes" | awk -v limit="$limit" '{ total += $1 } END { exit total > limit }' || exit 75
    echo content
    printf '%s\n' "$missing" | each cat -- | gzip -c | base64
  fi
fi
echo end
"""
).replace("GIANT", str(GIANT_BYTES // 1024))
