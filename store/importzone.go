package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// zones infers the time zones of users from the UTC offsets in the times of their memories. Dates
// and times of day in a question are read in the user's time zone.
type zones struct {
	offset  map[string]int // seconds east of UTC, by user
	several map[string]bool
}

// add records the offset of a time. Neither "Z" nor offset 0 says where a user lives.
func (z *zones) add(userID string, at time.Time) {
	if at.IsZero() {
		return
	}
	_, offset := at.Zone()
	if z.offset == nil {
		z.offset, z.several = map[string]int{}, map[string]bool{}
	}
	if known, ok := z.offset[userID]; ok && known != offset {
		z.several[userID] = true // daylight saving time, or a traveller
	}
	z.offset[userID] = offset
}

// insert sets the time zone of users without settings whose times all have the same offset other
// than 0. A login restricted to one user only sets that user's zone.
func (z *zones) insert(ctx context.Context, tx pgx.Tx) error {
	var users, names []string
	for userID, offset := range z.offset {
		if offset != 0 && !z.several[userID] {
			users = append(users, userID)
		}
	}
	if len(users) == 0 {
		return nil
	}
	slices.Sort(users) // in a fixed order, because the insert locks rows
	for _, userID := range users {
		names = append(names, zoneName(z.offset[userID]))
	}
	_, err := Exec(ctx, tx, `
		insert into oxbow.users (user_id, timezone)
		select u.user_id, u.timezone from unnest($1::text[], $2::text[]) with ordinality u(user_id, timezone, n)
		where u.user_id = current_setting('oxbow.user_id', true) or oxbow.is_trusted(current_user)
		order by u.n
		on conflict do nothing`, users, names)
	return err
}

// zoneName returns a name for a fixed offset that both PostgreSQL and Go know. Their sign is that
// of POSIX: positive is west of UTC. Etc/GMT names cover whole hours only; for others the name is
// the usual offset in angle brackets followed by the POSIX offset.
func zoneName(offset int) string {
	sign, posix := '+', '-'
	if offset < 0 {
		sign, posix, offset = '-', '+', -offset
	}
	hours, minutes := offset/3600, offset%3600/60
	if minutes == 0 && hours <= 12 {
		return fmt.Sprintf("Etc/GMT%c%d", posix, hours)
	}
	return fmt.Sprintf("<%c%02d:%02d>%c%02d:%02d", sign, hours, minutes, posix, hours, minutes)
}
