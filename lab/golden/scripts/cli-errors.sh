# What bad command lines are answered, and with which exit code.
oxbow nonsense
oxbow recall
oxbow recall ada
oxbow recall ada ""
oxbow recall ada x --limit 0
oxbow recall ada x --limit 1001
oxbow recall ada x --limit many
oxbow recall ada x --type dream
oxbow recall ada x --metadata '[1]'
oxbow recall ada x --metadata '{'
oxbow recall ada x --as-of yesterday-ish
oxbow recall ada x --believed-as-of 2024-13
oxbow recall ada x --colour red
oxbow recall "" x
oxbow context ada x --max-tokens 0
oxbow context ada x --now never
oxbow timeline ada x --type document
oxbow timeline ada ""
oxbow history nonsense
oxbow history 00000000-0000-4000-8000-000000000009
oxbow show 00000000
oxbow show 00000000-0000-4000-8000-000000000009
oxbow trait 00000000-0000-4000-8000-000000000009
oxbow trait edit 00000000-0000-4000-8000-000000000009 --user ada
oxbow trait edit 00000000-0000-4000-8000-000000000009 --user ada --confidence 2
oxbow traits ada --now never
oxbow remember ada
oxbow remember ada ""
oxbow remember ada x --type trait
oxbow remember ada x --type dream
oxbow remember ada x --importance 2
oxbow remember ada x --sensitivity 4
oxbow remember ada x --modality smell
oxbow remember ada x --modality image
oxbow remember ada x --at soon
oxbow remember ada x --at 2024-02-01 --until 2024-01-01
oxbow remember ada x --supersedes 00000000-0000-4000-8000-000000000009
oxbow remember ada x --reason why
oxbow forget ada 00000000-0000-4000-8000-000000000009
oxbow forget ada nonsense
oxbow restore ada 00000000-0000-4000-8000-000000000009
oxbow end-session ada none
oxbow import
oxbow import none.jsonl
printf '{"type":"memory","user":"ada","content":""}\n' | oxbow import -
printf '{"type":"memory","user":"ada"}\n{"user":"ada","content":"fine"}\n' | oxbow import - --skip-bad
printf '{"type":"memory","user":"ada","content":"x","importance":7}\n' | oxbow import -
printf '{"type":"memory","user":"ada","memory_type":"trait","content":"x"}\n' | oxbow import -
printf 'not json\n' | oxbow import -
printf '{"type":"memory","user":"ada","content":"x","at":"soon"}\n' | oxbow import -
printf '{"type":"memory","user":"ada","content":"x"}\n{"type":"memory","user":"bo","content":"x"}\n' | oxbow import - --user cy
oxbow import examples/lives.jsonl --type trait
oxbow import --from chroma none.jsonl
oxbow import --from mem0 none.json
oxbow import --from mem0 none.json --traits
oxbow import --from zep none.json --map content=x
oxbow import --from langgraph none.json --user-from x
oxbow import none.json --user-from user_id
oxbow import --from letta none.af
printf '{"results": [{"memory": "x"' | oxbow import --from mem0 -
printf '{"color": "red"}' | oxbow import --from zep - --user ada
printf '{"namespace": ["ada"], "key": "1", "value": {"text": "x"}}' | oxbow import --from langgraph -
oxbow eval none.jsonl
printf '{"type":"memory","user":"ada","content":"x"}\n' | oxbow eval -
printf '{"type":"question","user":"ada","question":"x","gold":"1"}\n' | oxbow eval -
oxbow eval examples/lives.jsonl --limit-questions -1
oxbow export
oxbow export nobody
oxbow erase
oxbow erase nobody < /dev/null
oxbow erase nobody --receipt short
oxbow erase --memory 00000000-0000-4000-8000-000000000009 --yes
oxbow ingest files/notes.txt
oxbow ingest none.txt --user ada
oxbow ingest files/notes.txt --user ada --chunk-size 5
printf '\000\001\002' | oxbow ingest - --name x.bin --user ada
oxbow files ada --delete none.md
oxbow keys encrypt
OXBOW_KEYSET=nonsense oxbow keys add
oxbow migrate sideways
oxbow migrate down
oxbow jobs run nonsense
oxbow jobs run embed
oxbow work --concurrency -1
oxbow work --until-idle --now never
oxbow work --stop-timeout -1s
oxbow top --every 1ms
oxbow doctor --timeout 1us
oxbow health 127.0.0.1:8080
oxbow health http://127.0.0.1:1/readyz
oxbow reflect
oxbow reflect nobody
oxbow entities ada nobody
OXBOW_EMBEDDING_PROVIDER=magic oxbow recall ada x
OXBOW_EMBEDDING_PROVIDER=openai oxbow recall ada x
OXBOW_EMBEDDING_DIMENSION=7 oxbow recall ada x
OXBOW_EMBEDDING_PROVIDER=openai OXBOW_EMBEDDING_MODEL=m OXBOW_EMBEDDING_API_KEY=k OXBOW_EMBEDDING_DIMENSION=9999 oxbow recall ada x
OXBOW_REASONER_PROVIDER=magic oxbow reflect ada
DATABASE_URL= oxbow status
DATABASE_URL=postgres://127.0.0.1:1/x oxbow status
DATABASE_URL=nonsense oxbow status
