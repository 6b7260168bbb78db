package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// tryTimeZones checks that the program knows time zones with their summer times: an empty root has none.
func tryTimeZones(ctx context.Context, db *database, image *image) {
	env := []string{"DATABASE_URL=" + db.url("oxbow")}
	db.psql(ctx, nil, "oxbow", "--command",
		"insert into oxbow.users (user_id, timezone) values ('zones', 'America/New_York')")
	for at, local := range map[string]string{"2025-01-15T12:00:00Z": "07:00", "2025-07-15T12:00:00Z": "08:00"} {
		id := must.Get(image.run(ctx, env, "remember", "zones", "Ada rang at "+at, "--at", at))
		shown := must.Get(image.run(ctx, env, "show", strings.TrimSpace(id)))
		if !strings.Contains(shown, at[:10]+" "+local) {
			must.OK(fmt.Errorf("%s is not shown as %s: %s", at, local, shown))
		}
	}
}
