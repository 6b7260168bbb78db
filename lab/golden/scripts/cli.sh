# Every command, on the samples: each line is typed by itself.
oxbow migrate status | grep -v '^river \|^oxbow '
oxbow migrate up
oxbow status
oxbow jobs
oxbow jobs run sweep
oxbow import examples/lives.jsonl files/people.jsonl
grep -v '2025-0[567]-' examples/habits.jsonl | oxbow import -
oxbow work --until-idle --now 2025-05-01
oxbow import examples/habits.jsonl
oxbow import examples/lives.jsonl
oxbow import examples/lives.jsonl --dry-run
printf '{"uuid":"f1","group_id":"ada","name":"OWNS","fact":"The boat is called Heron.","valid_at":"2025-13-01"}\n{"uuid":"f2","group_id":"林","fact":" "}\n{"uuid":"n1","group_id":"ada","name":"Ada","summary":""}' | oxbow import --from zep - --dry-run
printf '[{"note":"船叫白鹭。","owner":{"name":"林"},"when":"2025-03-10"}]' | oxbow import --from jsonl - --map content=note,user=owner.name,at=when --dry-run --json | grep -v seconds
oxbow work --until-idle --now 2025-07-05
oxbow status
oxbow recall demo-maren "What is Maren allergic to?" --limit 3
oxbow recall demo-maren "where does she work" --explain --limit 4
oxbow recall demo-thabo "Who paid for the school bikes?" -n 2
oxbow recall demo-zhouyun "半程马拉松跑得怎么样？" --limit 3 --explain
oxbow recall demo-maren "Where does Maren work?" --type fact --limit 1 --as-of 2025-03
oxbow recall demo-maren "Where does Maren work?" --type fact --limit 1 --believed-as-of 2025-04-01
oxbow recall demo-maren "ash glaze" --words-only --limit 2
oxbow recall nora "boat" --json
oxbow recall nora "boat" --agent desk --context personal --metadata '{"tag": "a"}'
oxbow recall nora "nothing of the kind zzz" --words-only
oxbow recall nobody "boat"
oxbow context demo-maren "what shall I cook?" --now 2025-07-05
oxbow context demo-zhouyun "周末做什么" --now 2025-07-05 --max-tokens 80
oxbow context nora --now 2025-07-05 --json
oxbow timeline demo-maren "where does she work"
oxbow timeline demo-maren "where does she work" --type fact --json
oxbow timeline 小林 住在哪里
oxbow history 5b0c1f6e-3a57-4c1e-9a5b-0d3f2a9c7e10 --user demo-maren
oxbow history 5b0c1f6e-3a57-4c1e-9a5b-0d3f2a9c7e10 --json
oxbow show 5b0c1f6e-3a57-4c1e-9a5b-0d3f2a9c7e10 --user demo-maren
oxbow show 5b0c1f6e
oxbow weight 5b0c1f6e-3a57-4c1e-9a5b-0d3f2a9c7e10 --user demo-maren --now 2025-07-05 --limit 3
oxbow weight 5b0c1f6e-3a57-4c1e-9a5b-0d3f2a9c7e10 --now 2025-07-05 --days 30 --json | grep -c '"weight"'
oxbow weight 00000000-0000-4000-8000-000000004001 --now 2024-07-05 --days 30
oxbow show 00000000-0000-4000-8000-000000004001 --json
oxbow traits demo-ilse --all --now 2025-07-05
oxbow traits demo-hao --now 2025-08-31 | sort
oxbow traits demo-ilse --now 2025-08-31 --json
oxbow traits demo-hao --as-of 2025-08-15 | sort
oxbow traits demo-ilse --as-of 2025-06-01 | sort
oxbow traits nora
oxbow trait $(oxbow traits demo-ilse --all --now 2025-07-05 | awk '/climbing/ { print $NF }') --user demo-ilse --now 2025-07-05 | grep -v '^next'
oxbow trait $(oxbow traits demo-hao --all --now 2025-07-05 | awk '/牛肉面/ { print $NF }') --user demo-hao --now 2025-07-05 --json
oxbow trait edit $(oxbow traits demo-ilse --all --now 2025-07-05 | awk '/ramen/ { print $NF }') --user demo-ilse --content "Loves noodle soups" --context social --confidence 0.7 --reason "she said so"
oxbow trait dissolve $(oxbow traits demo-hao --all --now 2025-07-05 | awk '/做饭/ { print $NF }') --user demo-hao --reason 不做了
oxbow trait delete $(oxbow traits demo-hao --all --now 2025-07-05 | awk '/看小说/ { print $NF }') --user demo-hao --yes
oxbow traits demo-hao --as-of 2025-08-15 | sort
oxbow traits demo-ilse --as-of 2025-06-01 | sort
oxbow entities nora
oxbow entities nora Tom
oxbow entities nora --json
oxbow entities demo-zhouyun
oxbow remember ada "Ada is allergic to walnuts." --importance 0.9 --category identity --external-id a1 --at 2024-03-01 | tee id
oxbow remember ada "Ada is allergic to walnuts." --external-id a1
oxbow remember ada "艾达下周去京都。" --type episodic --at 2025-03-01 --session chat-1 --seq 4 --speaker Ada --agent desk --source golden --metadata '{"context": "personal"}' --until 2025-03-09
oxbow remember ada "The view from Ada's window" --type episodic --at 2025-03-02 --modality image --reference photos/view.jpg
oxbow remember ada "Ada is allergic to all nuts." --supersedes $(cat id) --at 2024-06-01 --reason "the doctor said so" | tee id2
oxbow work --until-idle --now 2025-07-05
oxbow show $(cat id2) --user ada
oxbow history $(cat id) --user ada
oxbow forget ada $(cat id2) --reason "she asked"
oxbow show $(cat id2) --user ada
oxbow recall ada "what is she allergic to?"
oxbow restore ada $(cat id2)
oxbow restore ada $(cat id2)
oxbow recall ada "what is she allergic to?"
oxbow end-session demo-maren no-such-chat
oxbow reflect nora --now 2025-07-05 --dry-run
oxbow reflect nora --now 2025-07-05
oxbow reflect nora --now 2025-07-05 --json
oxbow ingest files/sails.md files/notes.txt files/page.html --user ada --chunk-size 200
oxbow ingest files/sails.md --user ada --chunk-size 200
oxbow ingest files/sails.md --user ada --chunk-size 100 --overlap 20 --json
printf 'piped words about the slipway' | oxbow ingest - --name pipe.txt --user ada
oxbow files ada
oxbow files ada --json
oxbow files ada --delete files/notes.txt
oxbow sensory ada
oxbow check
oxbow check demo-ilse --json
oxbow export nora
oxbow export ada --output ada.jsonl && wc -l < ada.jsonl
sed 's/"user_id":"ada"/"user_id":"ada2"/' ada.jsonl | oxbow import - --user ada2
oxbow export ada2 | wc -l
oxbow eval examples/lives.jsonl | grep -v '^A recall took'
oxbow eval examples/lives.jsonl --limit-questions 5 --json | sed '/latency_ms/,/}/d'
oxbow eval examples/lives.jsonl --extract | grep -v '^A recall took'
oxbow keys new | cut -c1-12 | tr 'A-Za-z0-9' 'x'
oxbow keys add
export OXBOW_KEYSET="$(oxbow keys new)"; id=$(printf 'the code is 4711' | oxbow remember zoe - --sensitivity 3); oxbow show $id; OXBOW_KEYSET="$(oxbow keys add)" oxbow rotate-keys; OXBOW_KEYSET= oxbow show $id
oxbow remember zoe "in clear" --sensitivity 3
oxbow reembed
oxbow import-v1 --dry-run
oxbow doctor 2> /dev/null | grep '^[a-z]*  *\(schema\|rights\|model\)'
oxbow erase --memory $(cat id2) --user ada --yes | grep -v 'river_job\|reflection_\|: [0-9]* rows' | sed 's/[A-Z2-7]\{26\}/<proof>/g'
oxbow erase ada ada2 --yes | grep -v 'river_job\|reflection_\|: [0-9]* rows' | sed 's/[A-Z2-7]\{26\}/<proof>/g'
oxbow erase nora --yes --json | sed '/"table": "r/,+1d; s/[A-Z2-7]\{26\}/<proof>/g'
oxbow erase nora --yes --json | sed 's/[A-Z2-7]\{26\}/<proof>/g'
oxbow erase ada --receipt V5T2ZQ6JQ4R3M7K2X5W4E6N3PA
oxbow top --once > /dev/null
oxbow work --until-idle --now 2025-07-05
oxbow status --json | sed '/"oxbow": {/,/}/d; /"river": {/,/}/d'
