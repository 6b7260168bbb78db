package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

func TestEntities(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	require.Contains(t, d.run("entities", "ada").err, `No memory of user "ada" names a known entity`)
	require.Equal(t, "[]", d.ok("entities", "ada", "--json"))
	d.exec(`insert into oxbow.memories (user_id, content, valid_at, metadata) values
		('ada', 'Her sister Anna lives in Porto.', '2024-05-01T12:00Z',
		 '{"entities": [{"name": "Anna", "kind": "person"}, {"name": "Porto", "kind": "place"}], "relations": ` +
		`[{"relation": "sister", "to": "Anna"}]}'),
		('林', '她姐姐小红在北京。', '2024-05-02T12:00Z',
		 '{"entities": [{"name": "小红", "kind": "person"}, {"name": "北京", "kind": "place"}], "relations": [{"relation": ` +
		`"sister", "to": "小红"}, {"from": "小红", "relation": "lives in", "to": "北京"}]}')`)
	d.work()

	listed := d.ok("entities", "ada")
	require.Regexp(t, `Anna +person +1 +2024-05-01 +2024-05-01 +user sister→, Porto`, listed)
	require.Regexp(t, `Porto +place +1 +2024-05-01 +2024-05-01 +Anna`, listed)
	require.Regexp(t, `小红 +person +1 +2024-05-02 +2024-05-02 +.*lives_in→ 北京`, d.ok("entities", "林"))
	require.Len(t, decoded[[]oxbow.Entity](t, d.ok("entities", "林", "--json")), 2)

	d.ok("forget", "ada", decoded[[]oxbow.NamedEntity](t, d.ok("entities", "ada", "anna",
		"--json"))[0].NamedBy[0].ID.String())
	require.Contains(t, d.run("entities", "ada", "Anna").err,
		`No memory of user "ada" names "Anna". "oxbow entities ada" lists the known names.`)
	shown := d.ok("entities", "林", "小红")
	require.Contains(t, shown, "小红 (person), 1 mention in 1 memory, from 2024-05-02 to 2024-05-02")
	require.Regexp(t, `user +sister +小红 +2024-05-02 12:00`, shown)
	require.Contains(t, shown, "她姐姐小红在北京。")
	require.Regexp(t, `entity 0\.\d{3}, rank 1`, d.ok("recall", "林", "小红怎么样", "--explain"))
}
