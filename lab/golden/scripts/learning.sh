# What a person says of memories, wants and has to do: each line is typed by itself.
oxbow migrate up
oxbow remember ada "Ada drinks black coffee in the morning." --external-id coffee --at 2025-03-01 | tee coffee
oxbow remember ada "Ada drinks green tea in the afternoon." --at 2025-03-02
oxbow remember 林 林喜欢吃香菜。 | tee coriander
oxbow work --until-idle
oxbow feedback $(cat coffee) wrong --query "What does Ada drink?" --reason "I stopped" 
oxbow recall ada "what does Ada drink"
oxbow feedback $(cat coriander) wrong --json
oxbow feedback $(cat coffee) angry
oxbow jobs run dispatch > /dev/null
oxbow work --until-idle
oxbow adjustments ada | sed 's,20[0-9-]*$,<date>,'
oxbow adjustments 林 | sed 's,20[0-9-]*$,<date>,'
oxbow adjustments 林 --rollback $(oxbow adjustments 林 --json | sed -n 's/.*"id": "\(.*\)",/\1/p' | head -1)
oxbow adjustments nobody
oxbow why ada $(cat coffee)
oxbow why 林 $(cat coriander)
oxbow why 林 $(cat coriander) --json | grep -c sentence
oxbow why ada $(cat coriander)
oxbow why ada coffee
oxbow instructions ada --add "Answer briefly" --aspect length
oxbow instructions ada --add "Use metric units" --aspect format --context work --priority 5
oxbow instructions ada --add "Answer in one word" --aspect length
oxbow instructions ada --all
oxbow instructions 林 --add 用中文回答 --aspect language --json
oxbow instructions ada --add x --aspect colour
oxbow instructions ada --end 00000000-0000-4000-8000-000000000001
oxbow context ada "what does she drink"
oxbow context 林 香菜
oxbow intend ada "Call mom" --due 2036-05-14T16:00:00Z
oxbow intend ada "Buy stamps" --condition "when I am at the post office"
oxbow intend 林 交报告 --due 2036-05-21T01:00:00Z --kind intention
oxbow intend ada "Call dad" --due "some day"
oxbow intend ada "Call dad" --kind wish
oxbow upcoming ada
oxbow upcoming ada --until 2030
oxbow upcoming 林 --json
oxbow predict ada --from 2036-05-14 --until 2036-05-14
oxbow upcoming ada --done $(oxbow upcoming ada --until 2037 --json | sed -n 's/.*"id": "\(.*\)",/\1/p' | head -1)
oxbow skills ada
oxbow skills ada "write the weekly report"
oxbow conclusions ada
oxbow predict ada
oxbow profile ada --set occupation=carpenter --set 'interests=["boats", "bread"]'
oxbow profile ada --json
oxbow profile ada --set nonsense
oxbow emotions ada
oxbow strategies
oxbow strategies --mode suggest
oxbow strategies --mode always
oxbow strategies --why 7
oxbow webhooks
oxbow webhooks --add ftp://127.0.0.1/hook
oxbow webhooks --add https://example.com/oxbow | sed 's/whsec_[A-Za-z0-9+\/=]*/<secret>/'
oxbow webhooks
oxbow jobs run molt > /dev/null
oxbow work --until-idle
