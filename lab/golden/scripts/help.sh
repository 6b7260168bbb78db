# The help of every command that stays.
oxbow
oxbow --help
oxbow help
for c in check context dev doctor end-session entities erase eval export files forget health history import import-v1 ingest; do echo "--- $c"; oxbow $c --help; done
for c in jobs keys migrate recall reembed reflect remember restore rotate-keys sensory show status timeline top trait traits work; do echo "--- $c"; oxbow $c --help; done
for c in "jobs run" "keys add" "keys encrypt" "keys new" "migrate down" "migrate status" "migrate up" "trait delete" "trait dissolve" "trait edit"; do echo "--- $c"; oxbow $c --help; done
oxbow completion --help
oxbow completion bash | wc -l | grep -c .
