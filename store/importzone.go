package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// zones gathers the time zones of users from the offsets that the times of their memories are written with: times of
// day and dates in a question are read in the user's own.
type zones struct {
	offset  map[string]int // in seconds east of UTC, by user
	several map[string]bool
}

// add notes a time as it was written. "Z" says nothing about where somebody lives, and neither does offset 0.
func (z *zones) add(userID string, at time.Time) {
	if at.IsZero() {
		return
	}
	_, offset := at.Zone()
	if z.offset == nil {
		z.offset, z.several = map[string]int{}, map[string]bool{}
	}
	if known, ok := z.offset[userID]; ok && known != offset {
		z.several[userID] = true // summer and winter, or a traveller
	}
	z.offset[userID] = offset
}

// insert sets the zone of users whose times all have one offset other than 0, and of whom nothing is known yet. A login
// that may see one user only sets that one's.
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
	slices.Sort(users) // in one order, as rows are locked
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

// zoneName names a fixed offset as PostgreSQL, Go and others know it. In these names the sign is POSIX's: west is
// positive. A part of an hour has no name of that kind; then the offset as people write it stands in angle brackets
// before that of POSIX.
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
