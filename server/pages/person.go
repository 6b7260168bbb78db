package pages

import (
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// personRoutes are a person's pages.
var personRoutes = []route{
	{"GET /{$}", store.RolePerson, "list-traits", "traits", (*Site).traits},
	{"GET /traits/{id}", store.RolePerson, "get-trait", "traits", (*Site).trait},
	{"POST /traits/{id}/confirm", store.RolePerson, "edit-trait", "traits", (*Site).confirmTrait},
	{"POST /traits/{id}/correct", store.RolePerson, "edit-trait", "traits", (*Site).correctTrait},
	{"POST /traits/{id}/dissolve", store.RolePerson, "dissolve-trait", "traits", (*Site).dissolveTrait},
	{"GET /traits/{id}/delete", store.RolePerson, "get-trait", "traits", (*Site).askDeleteTrait},
	{"POST /traits/{id}/delete", store.RolePerson, "delete-trait", "traits", (*Site).deleteTrait},

	{"GET /facts", store.RolePerson, "list-facts", "facts", (*Site).facts},

	{"GET /memories", store.RolePerson, "list-memories", "memories", (*Site).memories},
	{"GET /memories/{id}", store.RolePerson, "get-memory", "memories", (*Site).memory},
	{"POST /memories/{id}/correct", store.RolePerson, "supersede-memory", "memories", (*Site).correctMemory},
	{"POST /memories/{id}/confirm", store.RolePerson, "verify-memory", "memories", (*Site).confirmMemory},
	{"POST /memories/{id}/forget", store.RolePerson, "forget-memory", "memories", (*Site).forgetMemory},
	{"POST /memories/{id}/restore", store.RolePerson, "restore-memory", "memories", (*Site).restoreMemory},
	{"GET /memories/{id}/erase", store.RolePerson, "get-memory", "memories", (*Site).askEraseMemory},
	{"POST /memories/{id}/erase", store.RolePerson, "erase-memory", "memories", (*Site).eraseMemory},

	{"POST /memories/{id}/feedback", store.RolePerson, "give-feedback", "memories", giveFeedback("/memories/")},
	{"POST /traits/{id}/feedback", store.RolePerson, "give-feedback", "traits", giveFeedback("/traits/")},

	{"GET /wishes", store.RolePerson, "list-instructions", "wishes", (*Site).wishes},
	{"POST /wishes/instructions", store.RolePerson, "add-instruction", "wishes", (*Site).addInstruction},
	{"POST /wishes/instructions/{id}/end", store.RolePerson, "end-instruction", "wishes", endInstruction},
	{"POST /wishes/plans", store.RolePerson, "add-intention", "wishes", (*Site).addPlan},
	{"POST /wishes/plans/{id}/done", store.RolePerson, "complete-intention", "wishes", completePlan},
	{"POST /wishes/plans/{id}/drop", store.RolePerson, "drop-intention", "wishes", dropPlan},
	{"POST /wishes/adjustments/{id}/undo", store.RolePerson, "roll-back-adjustment", "wishes", undoAdjustment},

	{"GET /profile", store.RolePerson, "list-profile", "profile", (*Site).profile},
	{"POST /profile/remove", store.RolePerson, "put-profile", "profile", (*Site).removeValue},

	{"GET /activity", store.RolePerson, "list-log", "activity", (*Site).activity},

	{"GET /settings", store.RolePerson, "get-settings", "settings", (*Site).settings},
	{"POST /settings", store.RolePerson, "put-settings", "settings", (*Site).changeSettings},
	{"GET /export", store.RolePerson, "export", "settings", (*Site).export},
	{"GET /erase", store.RolePerson, "get-settings", "settings", (*Site).askEraseUser},
	{"POST /erase", store.RolePerson, "erase-user", "settings", (*Site).eraseUser},
}

// pageSize is the number of entries of a list on a page.
const pageSize = 30

func (s *Site) settingsOf(v *visit) (settings store.UserSettings, err error) {
	err = s.Client.InTx(v.Context(), v.session.UserID, func(tx pgx.Tx) error {
		settings, err = store.SettingsOf(v.Context(), tx, v.session.UserID)
		return err
	})
	return settings, err
}

// question is the page that asks before something that cannot be undone.
type question struct {
	Name   string // of the texts ask_NAME_title, _text and _button
	Quoted string // what it is about
	Action string
	Back   string
}

func (s *Site) settings(v *visit) error {
	settings, err := s.settingsOf(v)
	if err != nil {
		return err
	}
	return v.render("settings", settings)
}

func (s *Site) changeSettings(v *visit) error {
	settings, err := s.settingsOf(v)
	if err != nil {
		return err
	}
	settings.Timezone, settings.OptedOut = v.value("timezone"), v.value("opted_out") != ""
	settings.SharePatterns = v.value("share_patterns") != ""
	err = s.Client.InTx(v.Context(), v.session.UserID, func(tx pgx.Tx) error {
		return store.SetSettings(v.Context(), tx, v.session.UserID, settings)
	})
	if err != nil {
		return err
	}
	return v.redirect("/settings", "settings")
}

// export sends everything of the person as a file. After the first line a failure can only end the connection.
func (s *Site) export(v *visit) (err error) {
	v.status = http.StatusOK
	v.w.Header().Set("Content-Type", "application/x-ndjson")
	v.w.Header().Set("Content-Disposition", `attachment; filename="oxbow.jsonl"`)
	v.logged, err = s.Host.Export(v.Context(), v.entry(v.session.UserID), v.w)
	switch {
	case err != nil && !v.logged:
		v.w.Header().Del("Content-Disposition")
		return err
	case err != nil:
		_, _ = s.Host.Problem(v.Context(), err) // which logs it
		panic(http.ErrAbortHandler)             // so that the browser does not take it for complete
	}
	return nil
}

func (s *Site) askEraseUser(v *visit) error {
	return v.render("ask", question{Name: "erase_user", Action: "/erase", Back: "/settings"})
}

// eraseUser erases everything of the person. The entries of the log that wait are written first, so that they are
// erased too. The receipt is the answer, because the session has gone.
func (s *Site) eraseUser(v *visit) error {
	if v.value("sure") == "" {
		return s.askEraseUser(v)
	}
	if err := s.Host.FlushLog(v.Context()); err != nil {
		return err
	}
	receipt, err := s.Client.EraseUser(v.Context(), v.session.UserID)
	if err != nil {
		return err
	}
	v.logged = true
	http.SetCookie(v.w, s.cookie(v.Request, "session", "", 0))
	return v.showReceipt(receipt, v.session.UserID, uuid.Nil)
}

// activity is what the page of the activity shows.
type activity struct {
	Changes, Accesses bool // which of the lists
	Changed           []store.UserChange
	Read              []access
	Next              string // the parameters of the next page
}

// access is an entry of the log, with the name of the key.
type access struct {
	store.Access
	Key  string
	Mine bool // this session's key
}

func (s *Site) activity(v *visit) (err error) {
	a := activity{Accesses: v.value("show") == "accesses"}
	a.Changes = !a.Accesses
	if a.Accesses {
		err = s.accesses(v, &a)
	} else {
		err = s.changes(v, &a)
	}
	if err != nil {
		return err
	}
	return v.render("activity", a)
}

func (s *Site) changes(v *visit, a *activity) error {
	before, err := time.Parse(time.RFC3339Nano, v.value("before"))
	if err != nil && v.value("before") != "" {
		return store.Invalid("before", v.value("before"), "must be a time")
	}
	err = s.Client.InTx(v.Context(), v.session.UserID, func(tx pgx.Tx) (err error) {
		a.Changed, err = store.UserChanges(v.Context(), tx, v.session.UserID, before, pageSize)
		return err
	})
	if n := len(a.Changed); n == pageSize {
		a.Next = "before=" + a.Changed[n-1].At.UTC().Format(time.RFC3339Nano)
	}
	return err
}

func (s *Site) accesses(v *visit, a *activity) error {
	before, err := uuid.Parse(v.value("before"))
	if err != nil && v.value("before") != "" {
		return store.Invalid("before", v.value("before"), "must be the id of an entry")
	}
	var log []store.Access
	err = s.Client.InTx(v.Context(), v.session.UserID, func(tx pgx.Tx) (err error) {
		log, err = store.AccessLog(v.Context(), tx, v.session.UserID, before, pageSize)
		return err
	})
	if err != nil {
		return err
	}
	var ids []uuid.UUID
	for _, entry := range log {
		ids = append(ids, entry.KeyID)
	}
	names, err := store.APIKeyNames(v.Context(), s.Operators, ids)
	for _, entry := range log {
		a.Read = append(a.Read, access{entry, names[entry.KeyID], entry.KeyID != uuid.Nil && entry.KeyID == v.session.KeyID})
	}
	if n := len(log); n == pageSize {
		a.Next = "show=accesses&before=" + log[n-1].ID.String()
	}
	return err
}

// knowledge is what the page of the facts shows.
type knowledge struct {
	True, Known time.Time // the days
	First, Last int64     // the ends of the sliders, in days since 1970
	Facts       []oxbow.Fact
}

func (s *Site) facts(v *visit) error {
	now := time.Now().In(v.zone)
	k := knowledge{True: now, Known: now}
	options := oxbow.FactsOptions{}
	for _, d := range []struct {
		name      string
		day, asOf *time.Time
	}{{"true", &k.True, &options.ValidAsOf}, {"known", &k.Known, &options.BelievedAsOf}} {
		day, err := v.day(d.name)
		if err != nil {
			return err
		}
		if !day.IsZero() && day.Format(time.DateOnly) != now.Format(time.DateOnly) {
			*d.day, *d.asOf = day, day
		}
	}
	var err error
	if k.Facts, err = s.Client.Facts(v.Context(), v.session.UserID, options); err != nil {
		return err
	}
	err = s.Client.InTx(v.Context(), v.session.UserID, func(tx pgx.Tx) error {
		first, err := store.FirstFact(v.Context(), tx, v.session.UserID)
		if first.IsZero() || now.Sub(first) < 30*24*time.Hour {
			first = now.AddDate(0, -1, 0)
		}
		k.First, k.Last = daysSince1970(first), daysSince1970(now)
		return err
	})
	if err != nil {
		return err
	}
	return v.render("facts", k)
}

func daysSince1970(t time.Time) int64 {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60)
}
