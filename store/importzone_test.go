package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

func TestZoneNames(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for offset, name := range map[int]string{
		8 * 3600: "Etc/GMT-8", -5 * 3600: "Etc/GMT+5", 12 * 3600: "Etc/GMT-12", 13 * 3600: "<+13:00>-13:00",
		5*3600 + 1800: "<+05:30>-05:30", -(9*3600 + 1800): "<-09:30>+09:30", 14 * 3600: "<+14:00>-14:00",
	} {
		require.Equal(t, name, zoneName(offset))
		var known bool
		var local time.Time
		moment := time.Date(2025, 7, 1, 0, 0, 0, 0, time.UTC)
		err := tx.QueryRow(t.Context(), `select oxbow.is_timezone($1), $2::timestamptz at time zone $1`, name,
			moment).Scan(&known, &local)
		require.NoError(t, err)
		require.True(t, known, name)
		require.Equal(t, time.Duration(offset)*time.Second, local.Sub(moment), name)
		_, err = tx.Exec(t.Context(), `insert into oxbow.users (user_id, timezone) values ($1, $1)`, name)
		require.NoError(t, err)
		p, err := ReadPerson(t.Context(), tx, name)
		require.NoError(t, err)
		require.True(t, p.ZoneKnown)
		_, east := moment.In(p.Zone).Zone()
		require.Equal(t, offset, east)
	}
}

func TestZonesOfUsers(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	_, err := tx.Exec(t.Context(), `insert into oxbow.users (user_id, timezone) values ('known', 'Asia/Tokyo')`)
	require.NoError(t, err)
	at := func(text string) time.Time {
		moment, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return moment
	}
	var z zones
	for _, user := range []string{"zhou", "known"} {
		z.add(user, at("2025-01-01T08:00:00+08:00"))
		z.add(user, time.Time{})
		z.add(user, at("2025-07-01T08:00:00+08:00"))
	}
	z.add("ada", at("2025-01-01T08:00:00Z"))
	z.add("traveller", at("2025-01-01T08:00:00+01:00"))
	z.add("traveller", at("2025-07-01T08:00:00+02:00"))
	require.NoError(t, z.insert(t.Context(), tx))

	rows, err := tx.Query(t.Context(), `select user_id, timezone from oxbow.users order by user_id`)
	require.NoError(t, err)
	found := map[string]string{}
	for rows.Next() {
		var user, zone string
		require.NoError(t, rows.Scan(&user, &zone))
		found[user] = zone
	}
	require.NoError(t, rows.Err())
	require.Equal(t, map[string]string{"known": "Asia/Tokyo", "zhou": "Etc/GMT-8"}, found)
}
