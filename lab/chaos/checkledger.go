package chaos

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// stored is a row that a client wrote, in the database.
type stored struct {
	user, kind, content         string
	expired, forgotten, hasNext bool
}

// writes compares the database with the answers that the clients got.
func (k *checker) writes() int {
	tables := map[string]map[uuid.UUID]stored{}
	byContent := map[string]uuid.UUID{} // rows whose id the client did not learn
	for table, columns := range map[string]string{
		"memories":         "memory_type, content, expired_at is not null, forgotten_at is not null, superseded_by is not null",
		"messages":         "role, content, false, false, false",
		"sensory":          "'', content, false, false, false",
		"feedback_signals": "'', coalesce(external_id, ''), false, false, false",
		"instructions":     "'', content, false, false, false",
		"intentions":       "'', content, false, false, false",
		"skills":           "'', name, false, false, false"} {
		tables[table] = map[uuid.UUID]stored{}
		k.each("select id, user_id, "+columns+" from oxbow."+table, func(c []string) {
			id := uuid.MustParse(c[0])
			tables[table][id] = stored{c[1], c[2], c[3], c[4] == "t", c[5] == "t", c[6] == "t"}
			if table != "messages" && table != "sensory" {
				byContent[c[1]+"\x00"+c[3]] = id
			}
		})
	}
	looked := 0
	lives := map[[2]int][2]int{} // rows of lives whose erasure is unknown: there, gone
	for _, w := range k.ledger.writes {
		life := k.ledger.lifeErased(w.user, w.life)
		var present, absent int
		for _, row := range w.rows {
			looked++
			if row.id == uuid.Nil {
				row.id = byContent[userName(w.user)+"\x00"+row.content]
			}
			found, ok := tables[row.table][row.id]
			if row.table == "sensory" && !ok && w.at.Before(k.ledger.crashed) {
				continue // the stream is not logged: a crash of the server empties it
			}
			if ok {
				present++
			} else if row.erased <= failed {
				absent++
			}
			k.compare(w, row, life, found, ok)
		}
		switch {
		case life == unknown && w.outcome == acked:
			n := lives[[2]int{w.user, w.life}]
			lives[[2]int{w.user, w.life}] = [2]int{n[0] + present, n[1] + absent}
		case w.outcome == unknown && life == never && w.action != "sensory" && present > 0 && absent > 0:
			k.violate("atomic", userName(w.user), fmt.Sprintf("client %d, action %d, %s", w.client, w.nth, w.action),
				w.rows[0].table,
				"all rows of a transaction whose commit was not answered, or none",
				fmt.Sprintf("%d there, %d not", present, absent))
		}
	}
	for life, n := range lives {
		if n[0] > 0 && n[1] > 0 {
			k.violate("atomic", userName(life[0]), fmt.Sprintf("life %d", life[1]), "",
				"all of a user whose erasure was not answered, or nothing",
				fmt.Sprintf("%d rows there, %d not", n[0], n[1]))
		}
	}
	for id, how := range k.ledger.traits {
		if _, ok := tables["memories"][id]; ok && how == acked {
			k.violate("erased", "", id.String(), "memories", "no trait, because it was deleted", "a trait")
		}
		looked++
	}
	return looked
}

// compare compares a client's row with the stored one.
func (k *checker) compare(w *write, row *written, life outcome, found stored, ok bool) {
	what := func(check, expected, seen string) {
		k.violate(check, userName(w.user), row.id.String(), row.table,
			expected+fmt.Sprintf(" (client %d, action %d, %s, %s: %s)", w.client, w.nth, w.action, w.outcome,
				row.content), seen)
	}
	switch {
	case !ok && w.outcome == acked && life == never && row.erased <= failed:
		what("missing", "a row, because it was acknowledged", "none")
	case ok && w.outcome == failed:
		what("rolled back", "no row, because its transaction was rolled back", "a row")
	case ok && life == acked:
		what("erased", fmt.Sprintf("no row, because life %d of the user was erased", w.life), "a row")
	case ok && row.erased == acked:
		what("erased", "no row, because it was erased", "a row")
	}
	if !ok || w.outcome == failed {
		return
	}
	if found.user != userName(w.user) || found.content != row.content || row.kind != "" && found.kind != row.kind {
		what("changed", fmt.Sprintf("%s of %s: %s", row.kind, userName(w.user), row.content),
			fmt.Sprintf("%s of %s: %s", found.kind, found.user, found.content))
	}
	if row.table != "memories" {
		return
	}
	if (row.forgotten == acked && !found.forgotten) || (row.forgotten <= failed && found.forgotten) {
		what("forgotten", fmt.Sprintf("forgotten: %t", row.forgotten == acked),
			fmt.Sprintf("forgotten: %t", found.forgotten))
	}
	if row.superseded == acked && !found.expired {
		what("superseded", "an older version, because it was superseded", "it is current")
	}
}

var idPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// badMarks returns the marks that no row may have, with the reason, and the ids of erased memories. The number -1 stands
// for a whole life.
func (l *ledger) badMarks() (bad map[mark]string, erased map[string]bool) {
	bad, erased = map[mark]string{}, map[string]bool{}
	good := map[mark]bool{}
	for _, w := range l.writes {
		for _, row := range w.rows {
			switch {
			case w.outcome == failed:
				bad[row.mark] = "rolled back"
			case row.erased == acked:
				bad[row.mark] = "erased"
				erased[row.id.String()] = true
			default:
				good[row.mark] = true
			}
		}
	}
	for m := range good { // another row says the same
		delete(bad, m)
	}
	for _, e := range l.erasures {
		if e.outcome == acked {
			bad[mark{e.user, e.life, -1}] = "erased with its user"
		}
	}
	return bad, erased
}

// marks reads every row of every table as text. It reports marks of another user than the row's, marks
// of erased users, marks of texts that were erased or rolled back, and ids of erased memories.
func (k *checker) marks() int {
	bad, erased := k.ledger.badMarks()
	var tables []string
	k.each(`select c.relname, exists (select from pg_attribute a where a.attrelid = c.oid
		and a.attname = 'user_id' and not a.attisdropped) from pg_class c
		where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`,
		func(c []string) {
			user := "''"
			if c[1] == "t" {
				user = "t.user_id"
			} else if c[0] == "river_job" {
				user = "coalesce(t.args ->> 'user_id', '')"
			}
			tables = append(tables, fmt.Sprintf("select '%s', %s, to_jsonb(t)::text from oxbow.%s t", c[0], user,
				pgx.Identifier{c[0]}.Sanitize()))
		})
	looked := 0
	for _, sql := range tables {
		looked += k.each(sql, func(c []string) {
			table, user, text := c[0], c[1], c[2]
			for _, m := range marksIn(text) {
				why := bad[m]
				if why == "" {
					why = bad[mark{m.user, m.life, -1}]
				}
				if why != "" {
					k.violate(why, user, m.String(), table, "no trace of a text that was "+why, text)
				}
				if user != userName(m.user) && !(user == "" && table == "river_job") {
					k.violate("isolation", user, m.String(), table, "nothing of "+userName(m.user), text)
				}
			}
			if strings.HasPrefix(table, "river_") || len(erased) > 0 {
				for _, id := range idPattern.FindAllString(text, -1) {
					if erased[id] {
						k.violate("erased", user, id, table, "no trace of a memory that was erased", text)
					}
				}
			}
		})
	}
	return looked
}
