package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestForgetRestoreErase(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	boat := d.ok("remember", "ada", "The boat is called Heron.")
	other := d.ok("remember", "ada", "The boat leaks.")
	d.work()
	require.Len(t, d.recall("ada", "boat"), 2)

	require.Regexp(t, `^Forgotten\. "oxbow restore" can restore it until \d{4}-\d\d-\d\d`,
		d.ok("forget", "ada", boat, "--reason", "sold"))
	require.Regexp(t, `^Already forgotten\. "oxbow restore" can restore it until \d{4}-\d\d-\d\d`,
		d.ok("forget", "ada", boat))
	require.Equal(t, []string{"The boat leaks."}, contents(d.recall("ada", "boat")))
	shown := d.ok("show", boat)
	require.Contains(t, shown, "forgotten on ")
	require.Contains(t, shown, "sold")
	require.Equal(t, "Restored.", d.ok("restore", "ada", boat))
	require.Len(t, d.recall("ada", "boat"), 2)

	require.Regexp(t, `(?s)^table .*memories +1\n.*\nErased memory `+boat+`: \d+ rows\.\nReceipt \S+ of .*, requested `+
		`by \S+\.\nProof, .*: \w{26}$`, d.ok("erase", "--memory", boat, "--user", "ada", "--yes"))
	require.Equal(t, []string{"The boat leaks."}, contents(d.recall("ada", "boat")))
	d.ok("remember", "bob", "Bob keeps bees.")
	require.Contains(t, d.ok("erase", "ada", "--yes"), "memories", "the tables are named")
	require.Contains(t, d.ok("erase", "ada", "--yes"), `Erased user "ada": 0 rows.`)
	require.Zero(t, d.number(`select count(*) from oxbow.river_job where args::text like '%`+other+`%'`))
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memories`), "others' stay")
}

func TestVerifyAndTier(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	id := d.ok("remember", "ada", "The boat is called Heron.")
	require.Equal(t, "Verified.", d.ok("verify", "ada", id))
	require.Equal(t, "The tier is core.", d.ok("tier", "ada", id, "core", "--reason", "it is hers"))
	shown := d.ok("show", id)
	require.Regexp(t, `verified +yes`, shown)
	require.Regexp(t, `tier +core`, shown)
	require.Regexp(t, `promoted +1 +app +it is hers`, shown)
	require.Equal(t, "No longer verified.", d.ok("verify", "ada", id, "--not"))
	r := d.run("tier", "ada", id, "gold")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.err, "tier must be normal, core or system")
}

func TestRefusalsAboutOneMemory(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	id, none := d.ok("remember", "ada", "The boat is called Heron."), uuid.NewString()
	for _, bad := range []struct {
		says string
		args []string
	}{
		{"no such memory: " + none, []string{"show", none}},
		{"no such memory: " + uuid.Nil.String(), []string{"show", uuid.Nil.String()}},
		{"no such memory: " + id + ` of user "bob"`, []string{"show", id, "--user", "bob"}},
		{"user 'bob' has no memory " + id, []string{"forget", "bob", id}},
		{"is not forgotten", []string{"restore", "ada", id}},
		{`user "bob" has no memory ` + id + ": nothing was erased",
			[]string{"erase", "--memory", id, "--user", "bob", "--yes"}},
	} {
		r := d.run(bad.args...)
		require.Equal(t, exitFailed, r.code, bad.args)
		require.Contains(t, r.err, bad.says)
		require.Empty(t, r.out)
	}
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memories where forgotten_at is null`))
}

// A failed job is shown with its error, and a waiting job with its due time.
func TestShowJobs(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	id := d.ok("remember", "ada", "The boat is called Heron.", "--speaker", "Ada", "--session", "s1")
	text := d.ok("show", id)
	require.Regexp(t, `embedded +not yet; recall cannot find it`, text)
	require.Regexp(t, `embed +available .* 0 of 25`, text)
	require.Regexp(t, `speaker +Ada\n`, text)
	require.NotContains(t, text, "agent", "what is not set is not shown")
	d.exec(`update oxbow.river_job set state = 'retryable', attempt = 3, scheduled_at = '2999-01-01',
		errors = array['{"at": "2025-01-01T00:00:00Z", "attempt": 3, "error": "the disk is full", "trace": ""}']::jsonb[]`)
	require.Regexp(t, `embed +retryable .* 3 of 25 +2999-01-01 00:00 +the disk is full`, d.ok("show", id))
	s := decoded[details](t, d.ok("show", id, "--json"))
	require.Equal(t, "the disk is full", s.Work.Jobs[0].LastError)
	require.False(t, s.Work.Embedded)
	require.Equal(t, "ADD", s.History[0].Event)
}

func TestRelatedAndOrigins(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	named := func(text string) string {
		return strings.TrimSpace(d.ok("remember", "mia", text, "--metadata", `{"entities": ["Anna"]}`))
	}
	boats, cat := named("She paints boats"), named("Her cat is old")
	d.work()
	require.Regexp(t, `weight +true from +related +type +id\n.*\n +0\.\d\d .* Her cat is old +fact +`+cat, d.ok("show", boats))
	require.NotContains(t, d.ok("history", boats), "step")
	d.exec(`insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
		values ('mia', 'fact', $1, 'fact', $2, 'merged_from')`, boats, cat)
	require.Regexp(t, `step +from +when +text +id\n.*\n +1 +merged_from .* Her cat is old +`+cat, d.ok("history", boats))
	origins := decoded[story](t, d.ok("history", boats, "--json")).Origins
	require.Len(t, origins, 1)
	require.Equal(t, cat, origins[0].MemoryID.String())
}

func TestCompletionAndHelp(t *testing.T) {
	t.Parallel()
	help := cli(t).out
	for _, name := range []string{"migrate", "work", "dev", "remember", "import", "export", "recall", "show", "status",
		"eval",
		"forget", "restore", "erase", "reembed", "traits", "trait", "history", "timeline", "end-session",
		"completion"} {
		require.Contains(t, help, "\n  "+name+" ")
		require.Zero(t, cli(t, name, "--help").code)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		r := cli(t, "completion", shell)
		require.Zero(t, r.code)
		require.Contains(t, r.out, "oxbow")
	}
	require.Contains(t, cli(t, "__complete", "re").out, "recall\t")
	require.Equal(t, 5, strings.Count(cli(t, "__complete", "re").out, "\t"),
		"recall, reembed, reflect, remember, restore")
}

func TestShowLevel(t *testing.T) {
	d := onDatabase(t)
	id := d.ok("remember", "ada", "Ada had lunch with Ben", "--type", "episodic", "--category", "temporary")
	d.work()
	require.NotRegexp(t, `(?m)^level `, d.ok("show", id))
	d.exec(`update oxbow.memories set created_at = now() - interval '2000 days';
		select oxbow.walk_levels(now() + interval '91 days', 10), oxbow.settle_levels(now() + interval '91 days', 10)`)
	out := d.ok("show", id)
	require.Regexp(t, `(?m)^level +archive: less is kept than was stored$`, out)
	require.Regexp(t, `(?m)^embedded +no longer; recall finds it in the mode review$`, out)
	require.Regexp(t, `compressed +1 +settle`, out)
	require.Contains(t, d.ok("history", id), "compressed")
}

func TestSecret(t *testing.T) {
	d := onDatabase(t)
	t.Setenv("OXBOW_KEYSET", "")
	r := d.run("remember", "ada", "The code is 剑鱼.", "--sensitivity", "3")
	require.NotZero(t, r.code)
	require.Contains(t, r.err,
		"sensitivity must be below 3 without keys to seal the text with (WithSealer; OXBOW_KEYSET, from oxbow keys new)")
	for _, command := range [][]string{{"keys", "add"}, {"rotate-keys"}} {
		r = d.run(command...)
		require.Equal(t, exitUsage, r.code)
		require.Contains(t, r.err, "OXBOW_KEYSET is not set: \"oxbow keys new\" generates a keyset")
	}
	require.Equal(t, exitUsage, d.run("keys").code)

	t.Setenv("OXBOW_KEYSET", d.ok("keys", "new"))
	id := d.ok("remember", "ada", "The code is 剑鱼.", "--sensitivity", "3")
	d.ok("remember", "ada", "The boat is blue.", "--sensitivity", "1")
	d.work()
	require.Empty(t, d.recall("ada", "剑鱼"))
	out := d.ok("show", id)
	require.True(t, strings.HasPrefix(out, "The code is 剑鱼.\n"), out)
	require.Regexp(t, `sensitivity +3, sealed with key \d+\n`, out)
	require.Regexp(t, `embedded +never: a sealed memory`, out)

	// with keys, a text that contains a secret is sealed; with the policy refuse, it is not stored
	out = d.ok("show", d.ok("remember", "ada", "My password is hunter2."))
	require.True(t, strings.HasPrefix(out, "My password is hunter2.\n"), out)
	require.Regexp(t, `sensitivity +3, sealed with key \d+\n`, out)
	d.exec(`insert into oxbow.settings (key, value) values ('secrets', '{"policy": "refuse"}')`)
	r = d.run("remember", "ada", "My PIN is 4821.")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.err,
		"content must not contain a secret, because the setting secrets refuses them, got credential\n")
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file+".txt", []byte("My PIN is 4821."), 0o600))
	require.NoError(t, os.WriteFile(file+".jsonl", []byte(`{"user": "ada", "content": "My PIN is 4821."}`), 0o600))
	for _, command := range [][]string{{"ingest", file + ".txt", "--user", "ada"}, {"import", file + ".jsonl"}} {
		r = d.run(command...)
		require.NotZero(t, r.code)
		require.Contains(t, r.err, "credential")
		require.NotContains(t, r.err, "4821")
	}
	require.Contains(t, d.ok("status"), "memories")
	require.NotContains(t, d.pgDump(), "剑鱼")

	old := decoded[details](t, d.ok("show", id, "--json")).Memory.SealedKey
	t.Setenv("OXBOW_KEYSET", d.ok("keys", "add"))
	require.Regexp(t, `^All secrets are sealed with key \d+; 2 texts resealed\.$`, d.ok("rotate-keys"))
	s := decoded[details](t, d.ok("show", id, "--json"))
	require.Equal(t, "The code is 剑鱼.", s.Memory.Content)
	require.NotEqual(t, old, s.Memory.SealedKey)

	for keyset, says := range map[string]string{"": "give the client its keys",
		d.ok("keys", "new"): "not among the keys given", "x": "OXBOW_KEYSET: the keyset cannot be read"} {
		t.Setenv("OXBOW_KEYSET", keyset)
		r = d.run("show", id)
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.err, says)
		require.Equal(t, 1, strings.Count(r.err, "\n"), r.err)
	}
	t.Setenv("OXBOW_KEYSET", "")
	d.ok("erase", "--memory", id, "--user", "ada", "--yes")
}
