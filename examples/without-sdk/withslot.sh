#!/bin/sh
# Runs a command while it holds a slot of a product, with curl:
#
#   sh withslot.sh http://127.0.0.1:8080 demo ada@example.com sleep 60
#
# It exits with the code of the command, with 75 if no slot is free, and with 76 if the slot was lost.
server=$1 product=$2 user=$3
shift 3

# The server may lend the slot again at its end, so this script stops using it a little earlier.
margin=2
retry_after=5

post() {
  curl -sS --max-time 10 -H 'Content-Type: application/json' -H 'Prefer: return=minimal' \
    -d "{\"product\": \"$product\", \"user\": \"$user\", \"os_hostname\": \"$(uname -n)\"}" "$server/api/v4/$1"
}

number() { printf '%s' "$answer" | sed -nE "s/.*\"$1\":([0-9]+).*/\1/p"; }

message() { printf '%s' "$answer" | sed -nE 's/.*"message":"(([^"\\]|\\.)*)".*/\1/p' | sed 's/\\"/"/g'; }

# Takes or renews the slot. The time counts from when the request was sent.
register() {
  sent=$(date +%s)
  answer=$(post register 2>/dev/null)
  lasts=$(number slot_ends_in_seconds)
  [ -n "$lasts" ] || return 1
  until=$((sent + lasts - margin))
  renew_at=$((sent + $(number renew_in_seconds)))
}

lose() {
  kill "$command" 2>/dev/null
  wait "$command"
  echo "withslot: the slot was lost, so the command was ended. $1" >&2
  exit 76
}

if ! register; then
  why=$(message)
  echo "withslot: ${why:-No license server answers at $server.}" >&2
  exit 75
fi

exec 3<&0
"$@" <&3 &
command=$!
trap 'kill "$command"' INT TERM HUP

while kill -0 "$command" 2>/dev/null; do
  now=$(date +%s)
  if [ "$now" -ge "$until" ]; then lose 'The server has not answered in time.'; fi
  if [ "$now" -ge "$renew_at" ] && ! register; then
    why=$(message)
    if [ -n "$why" ]; then lose "$why"; fi
    renew_at=$((now + retry_after))
  fi
  sleep 1
done

wait "$command"
code=$?
post unregister >/dev/null 2>&1
exit "$code"
