#!/bin/sh
# Installs what a fresh Debian machine lacks, and touches nothing that is there.
#   setup.sh python     a Python of at least 3.11 that can make virtual environments; prints its path
#   setup.sh clients    the real clients that the tests run: kcat, and Java with Maven for Kafka's own jars
set -eu
here=$(cd "$(dirname "$0")" && pwd)
peer="$here/../../shared/peer/kafka"

say() { echo "setup: $*" >&2; }

install() {
  if ! command -v apt-get > /dev/null; then
    say "no apt-get here; please install by hand: $*"
    return 1
  fi
  as_root=
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo > /dev/null; then
      say "neither root nor sudo; please install by hand: $*"
      return 1
    fi
    as_root=sudo
  fi
  say "installing $*"
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q >&2
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@" >&2
}

fit_python() {
  for name in python3 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
      command -v "$name"
      return
    fi
  done
  return 1
}

setup_python() {
  fit_python && return
  install python3 python3-venv
  fit_python || { say "the python3 of this system is too old: kohort needs 3.11 or newer"; return 1; }
}

# A test that needs a client which cannot be installed here is skipped and says so.
setup_clients() {
  command -v kcat > /dev/null || install kcat || say "going on without kcat"
  if [ ! -e "$peer" ]; then
    say "no Kafka beside this checkout ($peer): tests against it are skipped"
    return
  fi
  { command -v javac > /dev/null && command -v mvn > /dev/null; } || install default-jdk-headless maven
  "$peer" libs > /dev/null
}

case ${1:-} in
  python) setup_python;;
  clients) setup_clients;;
  *) sed -n '2,4s/^# *//p' "$0" >&2; exit 2;;
esac
