package main

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

func TestTrait(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	_, preference, id := lin(t, d.pool())
	d.exec(`insert into oxbow.users (user_id, timezone) values ('林', 'Asia/Shanghai')`)

	text := d.ok("trait", id.String(), "--now", "2025-04-01T12:00:00Z")
	for _, line := range []string{
		`每天五点起床。\n\nid +` + id.String(),
		`user +林`,
		`subtype +behavior`,
		`stage +emerging`,
		`confidence +0\.302; 0\.302 at the last event, 2025-04-01 20:00`,
		`next +decays to candidate on 2025-04-03 without new evidence`,
		`context +personal`,
		`part of +喜欢清晨 \(subtype preference, stage established, 0\.65, ` + preference.String() + `\)`,
		`evidence +3 memories supporting, 1 contradicting`,
		`observed +2025-01-03 to 2025-02-09`,
		`2025-01-10 20:00  created at 0\.40, stage emerging \(2 memories, 2 sessions\)`,
		`  for     C  2025-01-03 20:00  s1              早上五点起床，去湖边。`,
		`2025-02-10 20:00  reinforced \+0\.13 → 0\.47, stage emerging \(1 memory, 1 session\)`,
		`  for     B  2025-02-09 20:00  s3, personal    我是早起的人。`,
		`2025-03-10 20:00  contradicted -0\.08 → 0\.33, stage emerging \(1 memory, 1 session\)`,
		`  against C  2025-03-09 20:00  day 2025-03-09  睡到中午。`,
		`Quality B: said outright \(removes 0\.20 of the doubt\); C: another session \(removes 0\.15 of the doubt\)\.`,
		`nr +when +what +confidence +stage +by +why`,
		` 2 +2025-02-10 20:00 +reinforced +0\.34 → 0\.47 +emerging +reflection`,
		` 4 +2025-04-01 20:00 +promoted +0\.30 → 0\.30 +emerging +reflection +part of a preference`,
	} {
		require.Regexp(t, `(?m)^`+line+`$`, text)
	}
	d.exec(`select oxbow.set_policy('trait_factor_c', 0.9)`) // it had another value then
	require.Equal(t, text, d.ok("trait", id.String()[:8], "--user", "林", "--now", "2025-04-01T12:00:00Z"),
		"its beginning will do")
	require.Contains(t, d.ok("trait", preference.String()), "made from     每天五点起床。 (subtype behavior")
	require.Contains(t, d.ok("trait", preference.String()), "\n              work: 早到公司 (0.70)\n")

	details := decoded[oxbow.TraitDetails](t, d.ok("trait", id.String(), "--json"))
	require.Equal(t, []int{4, 4}, []int{len(details.Evidence), len(details.Events)})
	require.Equal(t, preference, details.Parent.ID)

	memory := details.Evidence[3].MemoryID.String()
	d.ok("forget", "林", memory)
	text = d.ok("trait", id.String())
	require.NotContains(t, text, "睡到中午")
	require.Contains(t, text, "(forgotten on ")
}

// Long lists show the latest entries.
func TestLongTrait(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	trait := traittest.Trait{UserID: "ada", Events: []traittest.Event{traittest.Created(traittest.Day(1, 1), 0.4)}}
	for i := range 40 {
		at := traittest.Day(1, 2+i)
		trait.Events = append(trait.Events, traittest.Reinforced(at, 0.05,
			traittest.Evidence{Content: fmt.Sprintf("memory %d.", i), At: at, Quality: "D"}))
	}
	id := trait.Insert(t, d.pool()).String()
	text := d.ok("trait", id)
	require.Contains(t, text, "… 10 earlier memories (--all)")
	require.Contains(t, text, "… 11 earlier events (--all)")
	require.NotContains(t, text, "memory 9.")
	require.Contains(t, text, "memory 10.")
	require.Contains(t, text, "\nQuality D: the same session, or inferred (removes 0.05 of the doubt).\n")
	require.Contains(t, d.ok("trait", id, "-n", "39"), "… 1 earlier memory (--all)")
	all := d.ok("trait", id, "--all")
	require.NotContains(t, all, "earlier")
	require.Contains(t, all, "memory 0.")
	require.Len(t, decoded[oxbow.TraitDetails](t, d.ok("trait", id, "--json")).Evidence, 40)
}

// Every stage has a line about what time does next.
func TestTraitNext(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	pool := d.pool()
	for _, trait := range []struct {
		event traittest.Event
		says  string
	}{
		{traittest.Created(traittest.Day(1, 1), 0.9),
			`next          decays to established on 2025-01-\d\d without new evidence`},
		{traittest.Created(traittest.Day(1, 1), 0.2),
			`next          dissolves on 2025-10-\d\d without new evidence`},
		{traittest.Watched(traittest.Day(1, 1), traittest.Day(1, 31)),
			`next          its window ends on 2025-01-31; it dissolves then unless two reflections reinforce it first`},
		{traittest.Created(traittest.Day(1, 1).AddDate(-1, 0, 0), 0.599999),
			`stage         candidate by decay; emerging at the last event, 2024-01-01 12:00\n` +
				`confidence    0\.09\d; 0\.600 at the last event, 2024-01-01 12:00`},
	} {
		id := traittest.Trait{UserID: "ada", Events: []traittest.Event{trait.event}}.Insert(t, pool)
		require.Regexp(t, trait.says, d.ok("trait", id.String(), "--now", "2025-01-02"))
	}
	gone := traittest.Trait{UserID: "ada", Events: []traittest.Event{traittest.Created(traittest.Day(1, 1), 0.4),
		{Event: lifecycle.Event{Kind: lifecycle.Dissolution, At: traittest.Day(1, 2)}, Actor: "user"}}}.Insert(t, pool)
	require.NotContains(t, d.ok("trait", gone.String()), "\nnext ")
}

func TestCorrectTrait(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	id := traittest.Trait{UserID: "ada", Events: []traittest.Event{traittest.Created(time.Now(), 0.4,
		traittest.Evidence{Content: "Up at five.", At: time.Now().Add(-time.Hour)})}}.Insert(t, d.pool()).String()

	require.Equal(t, "Corrected: Ann gets up early.\nSubtype behavior, stage emerging, confidence 0.50, context work.",
		d.ok("trait", "edit", id, "--context", "work", "--confidence", "0.5", "--reason", "less so"))
	text := d.ok("trait", "edit", id[:8], "--user", "ada", "--content", "早起的人")
	require.Regexp(t, `^Corrected: 早起的人\nSubtype behavior, stage core, confidence 0\.90, context work\.\n`+
		`New id: [0-9a-f-]{36}\.$`, text)
	newer := text[len(text)-37 : len(text)-1]
	log := d.ok("trait", newer)
	require.Regexp(t, `edited +0\.40 → 0\.50 +emerging +user +less so; context work\n`, log)
	require.Regexp(t, `edited +0\.50 → 0\.90 +core +user +new wording(\n|$)`, log)
	require.Regexp(t, `formerly      until .*: Ann gets up early\.\n`, log)
	for _, args := range [][]string{{"trait", id}, {"trait", id[:8], "--user", "ada"},
		{"trait", "edit", id, "--context", "work"}, {"trait", "dissolve", id}} {
		r := d.run(args...)
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.err, newer, "the newer one is named")
	}
	require.Contains(t, d.input("up with the lark\n", "trait", "edit", newer, "--content", "-").out,
		"Corrected: up with the lark\n")
	newer = decoded[[]oxbow.Trait](t, d.ok("traits", "ada", "--json"))[0].ID.String()

	for range 2 {
		require.Equal(t, `Dissolved. Only "oxbow trait edit" revives it.`,
			d.ok("trait", "dissolve", newer, "--reason", "not me"))
	}
	require.Equal(t, 1, d.number(`select count(*) from oxbow.trait_events where event = 'dissolved'
		and reason = 'not me'
		and actor = 'user'`))
	require.Equal(t, "[]", d.ok("traits", "ada", "--json"))
	require.Contains(t, d.ok("trait", "edit", newer, "--confidence", "0.7"), "stage established, confidence 0.70")

	r := d.run("trait", "delete", newer)
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.err, "add --yes to confirm")
	require.Regexp(t, `^Erased trait `+newer+`: \d+ rows\. Reflection does not create it again\.$`,
		d.ok("trait", "delete", newer, "--yes"))
	require.Zero(t, d.number(`select count(*) from oxbow.memories where memory_type = 'trait'`))
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memories`), "the memory stays")
	require.Equal(t, 3, d.number(`select count(*) from oxbow.trait_refusals`), "of each wording")
}

func TestTraitRefuses(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	pool := d.pool()
	id, none := traittest.Trait{UserID: "ada"}.Insert(t, pool).String(), uuid.NewString()
	fact := d.ok("remember", "ada", "The boat is called Heron.")
	traittest.Trait{UserID: "ada", ID: uuid.MustParse(id[:8] + none[8:])}.Insert(t, pool)
	for _, bad := range []struct {
		says string
		args []string
	}{
		{"confidence must be above 0 and below 1, got 0", []string{"trait", "edit", id, "--confidence", "0"}},
		{"confidence must be above 0 and below 1, got 1", []string{"trait", "edit", id, "--confidence", "1"}},
		{"confidence must be above 0 and below 1, got NaN", []string{"trait", "edit", id, "--confidence", "NaN"}},
		{`context must be work, personal, social, learning or general, got "home"`,
			[]string{"trait", "edit", id, "--context", "home"}},
		{"content must not be longer than 1 MiB", []string{"trait", "edit", id, "--content",
			strings.Repeat("x", 1<<20+1)}},
		{"no such memory: " + none, []string{"trait", none}},
		{"no such memory: " + id + ` of user "bob"`, []string{"trait", id, "--user", "bob"}},
		{`user "bob" has no trait whose id begins with ` + id[:8], []string{"trait", id[:8], "--user", "bob"}},
		{`several trait ids of user "ada" begin with ` + id[:8],
			[]string{"trait", "delete", id[:8], "--user", "ada", "--yes"}},
		{"the memory is not a trait: " + fact, []string{"trait", fact}},
		{"memory " + fact + " of user 'ada' is not a trait", []string{"trait", "edit", fact, "--context", "work"}},
		{"is not a trait (it is of type fact)", []string{"trait", "dissolve", fact}},
		{"is not a trait", []string{"trait", "delete", fact, "--yes"}},
		{"user 'bob' has no memory " + id, []string{"trait", "dissolve", id, "--user", "bob"}},
	} {
		r := d.run(bad.args...)
		require.Contains(t, r.err, bad.says)
		require.Equal(t, strings.Contains(bad.says, " must "), r.code == exitUsage, r.err)
		require.NotZero(t, r.code)
		require.Empty(t, r.out)
	}
	require.Equal(t, 1, d.number(`select max(seq) from oxbow.trait_events`), "nothing happened")
}

// An application's own login sees and corrects the traits of the user that the command names.
func TestTraitsOfAnAppLogin(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	id := traittest.Trait{UserID: "ada", Events: []traittest.Event{traittest.Created(time.Now(), 0.4)}}.Insert(t,
		d.pool()).String()
	login := "app_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	d.exec("create role " + login + " login in role oxbow_app")
	t.Cleanup(func() { d.exec("drop role " + login) })
	at, err := url.Parse(d.dsn)
	require.NoError(t, err)
	at.User = url.User(login)
	app := on{t, at.String()}

	require.Contains(t, app.ok("traits", "ada"), "Ann gets up early.")
	require.Contains(t, app.run("trait", id).err, "add --user if this login may see only one user")
	require.Contains(t, app.run("trait", id, "--user", "bob").err, "no such memory")
	require.Contains(t, app.ok("trait", id[:8], "--user", "ada"), "confidence    0.400")
	app.ok("trait", "edit", id, "--user", "ada", "--confidence", "0.5")
	app.ok("trait", "dissolve", id, "--user", "ada")
	app.ok("trait", "delete", id, "--user", "ada", "--yes")
	require.Zero(t, d.number(`select count(*) from oxbow.trait_events`))
}

func TestTraitsOnADatabaseThatIsNotReady(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.exec(`update oxbow.schema_version set version = 1`)
	id := uuid.NewString()
	for _, args := range [][]string{{"traits", "u"}, {"trait", id}, {"trait", "edit", id, "--context", "work"},
		{"trait", "dissolve", id},
		{"trait", "delete", id, "--yes"}} {
		r := d.run(args...)
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.err, "the database is older than this version of oxbow")
	}
}
