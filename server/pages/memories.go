package pages

import (
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// memoryList is what the page of the memories shows.
type memoryList struct {
	Query, Type string
	All         bool
	Items       []memoryItem
	Next        string // the cursor
	Degraded    bool   // only words were searched
}

// memoryItem is a memory in a list.
type memoryItem struct {
	oxbow.Memory
	At time.Time // when it became true or happened
}

// memoryTypes are the types that the page of the memories lists. Traits have their own page.
var memoryTypes = []oxbow.MemoryType{oxbow.TypeFact, oxbow.TypeEpisodic, oxbow.TypeDocument}

// Types returns the types that can be chosen.
func (memoryList) Types() []oxbow.MemoryType { return memoryTypes }

func (s *Site) memories(v *visit) (err error) {
	list := memoryList{Query: v.value("q"), Type: v.value("type"), All: v.value("all") != ""}
	types := memoryTypes
	if list.Type != "" {
		types = []oxbow.MemoryType{oxbow.MemoryType(list.Type)}
	}
	if list.Query != "" {
		err = s.search(v, types, &list)
	} else {
		err = s.list(v, types, &list)
	}
	if err != nil {
		return err
	}
	return v.render("memories", list)
}

func (s *Site) search(v *visit, types []oxbow.MemoryType, list *memoryList) error {
	found, err := s.Client.Recall(v.Context(), oxbow.Query{UserID: v.session.UserID, Text: list.Query, Types: types,
		Limit: pageSize})
	list.Degraded = found.Degraded != nil
	for _, m := range found.Memories {
		list.Items = append(list.Items, item(oxbow.Memory{ID: m.ID, Type: m.Type, Content: m.Content, ValidAt: m.ValidAt,
			InvalidAt: m.InvalidAt, CreatedAt: m.CreatedAt, ExpiredAt: m.ExpiredAt}))
	}
	return err
}

func (s *Site) list(v *visit, types []oxbow.MemoryType, list *memoryList) error {
	return s.Client.InTx(v.Context(), v.session.UserID, func(tx pgx.Tx) error {
		found, next, err := store.ListMemories(v.Context(), tx, v.session.UserID,
			store.Listing{Types: types, All: list.All, Cursor: v.value("cursor"), Limit: pageSize})
		for _, m := range found {
			list.Items = append(list.Items, item(m))
		}
		list.Next = next
		return err
	})
}

func item(m oxbow.Memory) memoryItem {
	at := m.ValidAt
	if at.IsZero() {
		at = m.CreatedAt
	}
	return memoryItem{m, at}
}

// memoryPage is what the page of a memory shows.
type memoryPage struct {
	memoryItem
	Versions []memoryItem // others than this one
	History  []oxbow.Change
	Origins  []oxbow.Origin
	Related  []oxbow.Related
	Why      []oxbow.Sentence
}

// Until is when a forgotten memory is erased.
func (m memoryPage) Until() time.Time { return m.ForgottenAt.Add(store.Restorable) }

func (s *Site) memory(v *visit) error {
	id, err := v.id()
	if err != nil {
		return err
	}
	ctx, user := v.Context(), v.session.UserID
	m, err := s.load(v, id)
	if err != nil {
		return err
	}
	if m.Type == oxbow.TypeTrait && m.ForgottenAt.IsZero() && m.SupersededBy == uuid.Nil {
		return v.redirect("/traits/"+id.String(), "")
	}
	page := memoryPage{memoryItem: item(m)}
	versions, err := s.Client.Versions(ctx, user, id)
	for _, version := range versions {
		if version.ID != id {
			page.Versions = append(page.Versions, item(version))
		}
	}
	if err == nil {
		page.History, err = s.Client.History(ctx, user, id)
	}
	if err == nil {
		page.Origins, err = s.Client.Provenance(ctx, user, id, 50)
	}
	if err == nil {
		page.Related, err = s.Client.Related(ctx, user, id, 5)
	}
	if err == nil {
		page.Why, err = s.why(v, id)
	}
	if err != nil {
		return err
	}
	return v.render("memory", page)
}

// why explains something in the visitor's language.
func (s *Site) why(v *visit, id uuid.UUID) (said []oxbow.Sentence, err error) {
	err = s.Client.InTx(v.Context(), v.session.UserID, func(tx pgx.Tx) error {
		said, err = store.Why(v.Context(), tx, v.session.UserID, id, v.words.Lang)
		return err
	})
	return said, err
}

// load returns a memory. The server has no keys, so the text of a sealed one is "[sealed]".
func (s *Site) load(v *visit, id uuid.UUID) (oxbow.Memory, error) {
	m, err := s.Client.Get(v.Context(), v.session.UserID, id)
	if errors.Is(err, oxbow.ErrSealed) {
		err = nil
	}
	return m, err
}

// change changes the memory in the path and shows it again.
func (s *Site) change(v *visit, done string, f func(tx pgx.Tx, id uuid.UUID) error) error {
	id, err := v.id()
	if err == nil {
		err = s.Client.InTx(v.Context(), v.session.UserID, func(tx pgx.Tx) error { return f(tx, id) })
	}
	if err != nil {
		return err
	}
	return v.redirect("/memories/"+id.String(), done)
}

func (s *Site) correctMemory(v *visit) error {
	id, err := v.id()
	if err != nil {
		return err
	}
	since, err := v.day("since")
	if err != nil {
		return err
	}
	if !since.IsZero() { // the day begins to be true in the morning, and not after now
		since = since.AddDate(0, 0, -1).Add(time.Microsecond)
	}
	newer, err := s.Client.Supersede(v.Context(), v.session.UserID, id, oxbow.Replacement{Content: v.value("content"),
		ValidAt: since, Reason: v.value("reason"), Actor: "user"})
	if err != nil {
		return err
	}
	return v.redirect("/memories/"+newer.String(), "corrected")
}

func (s *Site) confirmMemory(v *visit) error {
	confirmed := v.value("withdraw") == ""
	done := map[bool]string{true: "confirmed", false: "withdrawn"}[confirmed]
	return s.change(v, done, func(tx pgx.Tx, id uuid.UUID) error {
		return store.Verify(v.Context(), tx, v.session.UserID, id, confirmed, "", "user")
	})
}

func (s *Site) forgetMemory(v *visit) error {
	return s.change(v, "forgotten", func(tx pgx.Tx, id uuid.UUID) error {
		return store.Forget(v.Context(), tx, v.session.UserID, id, v.value("reason"), "user")
	})
}

func (s *Site) restoreMemory(v *visit) error {
	return s.change(v, "restored", func(tx pgx.Tx, id uuid.UUID) error {
		return store.Restore(v.Context(), tx, v.session.UserID, id, "user")
	})
}

func (s *Site) askEraseMemory(v *visit) error {
	id, err := v.id()
	if err != nil {
		return err
	}
	m, err := s.load(v, id)
	if err != nil {
		return err
	}
	at := "/memories/" + id.String()
	return v.render("ask", question{Name: "erase_memory", Quoted: m.Content, Action: at + "/erase", Back: at})
}

func (s *Site) eraseMemory(v *visit) error {
	if v.value("sure") == "" {
		return s.askEraseMemory(v)
	}
	id, err := v.id()
	if err != nil {
		return err
	}
	receipt, err := s.Client.EraseMemory(v.Context(), v.session.UserID, id)
	if err != nil {
		return err
	}
	if receipt.ID == uuid.Nil {
		return errNoPage
	}
	return v.showReceipt(receipt, v.session.UserID, id)
}
