package server

import (
	"context"
	"net/http"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/danielgtaylor/huma/v2"

	"github.com/oxbow-memory/oxbow/server/pages"
	"github.com/oxbow-memory/oxbow/store"
)

// loginsPerSecond limits the attempts to sign in from one address. Bursts may be ten times as large.
const loginsPerSecond = 5

func (s *Server) pages() http.Handler {
	return pages.New(pages.Config{Host: pagesHost{s}, Client: s.client, Operators: s.own, Operator: s.operator,
		Model:        store.ModelOf(s.cfg.Embedder),
		ClientID:     s.cfg.ClientID,
		ClientSecret: s.cfg.ClientSecret, PublicURL: s.cfg.PublicURL}).Handler()
}

// pagesHost is what the pages need of the server.
type pagesHost struct{ *Server }

func (h pagesHost) AdmitLog(user string) error { return h.audit.admit(user) }

func (h pagesHost) Log(entry store.Access) { h.audit.add(entry) }

func (h pagesHost) FlushLog(ctx context.Context) error { return h.audit.flush(ctx) }

func (h pagesHost) Export(ctx context.Context, entry store.Access, w http.ResponseWriter) (begun bool, err error) {
	who := caller{role: entry.Role, key: entry.KeyID, user: entry.UserID}
	return h.sendExport(ctx, who, w, func() error { return h.audit.store(ctx, entry) })
}

func (h pagesHost) Note(ctx context.Context, text string, args ...any) {
	h.log.InfoContext(ctx, text, args...)
}

func (h pagesHost) Session(r *http.Request, id string) (found store.PageSession, _ error) {
	err := h.find(r, h.sessions, id, func(ctx context.Context) (err error) {
		if found, err = store.FindPageSession(ctx, h.own, id); err == nil {
			h.sessions.add(id, caller{role: found.Role, key: found.KeyID, user: found.UserID})
		}
		return err
	})
	return found, h.delay(r.Context(), err)
}

func (h pagesHost) Begin(r *http.Request, session store.PageSession) (context.Context, func(), error) {
	c := caller{role: session.Role, key: session.KeyID, user: session.UserID}
	if err := h.take(c); err != nil {
		return nil, nil, h.delay(r.Context(), err)
	}
	ctx, end, err := h.begin(r, c)
	if err != nil {
		return nil, nil, err
	}
	ctx, settle := h.spends(ctx)
	l := h.loads.begin(c)
	return l.metered(ctx), func() { l.end(); settle(); end() }, nil
}

func (h pagesHost) LimitLogin(r *http.Request) error {
	return h.delay(r.Context(), h.logins.take(bucket{address: h.remote(r)}))
}

func (h pagesHost) Base(r *http.Request) string { return h.base(r) }

func (h pagesHost) Problem(ctx context.Context, err error) (int, string) {
	p := h.problem(ctx, err)
	if model, ok := p.(*huma.ErrorModel); ok {
		return model.Status, model.Detail
	}
	return p.GetStatus(), p.Error()
}

func (h pagesHost) User(token *oidc.IDToken) (string, error) { return h.tokens.userOf(token) }

func (h pagesHost) Issuer(ctx context.Context) (*oidc.Provider, error) {
	provider, err := h.tokens.provider(ctx)
	if err != nil {
		return nil, errNoIssuer
	}
	return provider, nil
}
