#!/usr/bin/env bash
# A tour of the HTTP API: a fact, what it answers, its correction, what was true before, and its erasure.
#
#   export OXBOW_URL=http://127.0.0.1:8080        # the default
#   export OXBOW_API_KEY=$(bin/oxbow keys api create --role app --name tour)
#   examples/http.sh
#
# It needs a worker ("oxbow dev" runs one) and curl. The user of the tour is erased at the end.
set -euo pipefail
user=tour-$$

# call METHOD PATH [JSON] makes a request for the user and prints the answer.
call() {
	echo "$1 $2 ${3-}" >&2
	curl --silent --show-error --fail-with-body --request "$1" "${OXBOW_URL:-http://127.0.0.1:8080}/v1/users/$user$2" \
		--header "Authorization: Bearer $OXBOW_API_KEY" ${3:+--json "$3"} || return
	echo
}

# field NAME prints a field of an answer.
field() { sed -nE "s/.*\"$1\":\"?([^\",}]*).*/\1/p"; }

# searchable ID waits until the worker has processed a memory.
searchable() {
	local operation=''
	until grep --quiet '"searchable":true' <<<"$operation"; do
		sleep 0.2
		operation=$(call GET "/operations/$1" 2>/dev/null) || { echo "$operation" >&2; return 1; }
	done
}

echo "1. A fact. The answer has its id, and comes after the commit."
added=$(call POST /memories '{"content": "Ada lives in Lisbon", "valid_at": "2015-03-01T00:00:00Z"}')
id=$(field id <<<"$added")
echo "$added"
searchable "$id"

echo "2. A question."
call POST /recall '{"query": "Where does Ada live?", "limit": 1}'

echo "3. She moves. The old fact stays, for questions about the past."
moved=$(call POST "/memories/$id/supersede" '{"content": "Ada lives in Porto", "valid_at": "2024-05-01T00:00:00Z"}')
echo "$moved"
searchable "$(field id <<<"$moved")"
call GET '/facts?valid_as_of=2020-01-01T00:00:00Z'
call POST /timeline '{"topic": "Where does Ada live?"}'

echo "4. Text for a prompt."
call POST /context '{"query": "Shall we meet where Ada lives?", "max_tokens": 200}'

echo "5. What was read and changed, and by whom."
sleep 1 # the log is written within a second
call GET /log

echo "6. Everything about her is erased, with a receipt."
call POST /erase "{\"user_id\": \"$user\"}"
