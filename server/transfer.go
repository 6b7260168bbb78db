package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	transferTimeout = 10 * time.Minute // for an export or an import
	chunkTimeout    = 30 * time.Second // for a client to take or send some of it
	maxImport       = 1 << 30          // bytes
	lines           = "application/x-ndjson"
)

// Imported counts what an import read and stored.
type Imported struct {
	Lines    int   `json:"lines" doc:"Read, including blank ones"`
	Memories int   `json:"memories" doc:"Lines with a memory"`
	New      int64 `json:"new" doc:"Memories that did not exist"`
	Bad      int   `json:"bad" doc:"Lines that were skipped"`
}

// upload is the body of a request, which is read as it arrives.
type upload struct{ body io.Reader }

// Resolve is called by huma.
func (u *upload) Resolve(ctx huma.Context) []error {
	_, w := humago.Unwrap(ctx)
	u.body = &slowly{ctx.BodyReader(), http.NewResponseController(w)}
	return nil
}

// slowly gives a client some time for each part of a body.
type slowly struct {
	io.Reader
	connection *http.ResponseController
}

func (s *slowly) Read(p []byte) (int, error) {
	_ = s.connection.SetReadDeadline(time.Now().Add(chunkTimeout)) // a test's connection may have none
	return s.Reader.Read(p)
}

func (s *Server) registerTransfer() {
	export := op("export", http.MethodGet, "/export", "transfer", "Export everything of the user as JSON Lines")
	export.Responses = map[string]*huma.Response{"200": {Description: "A line per memory or other record",
		Content: map[string]*huma.MediaType{lines: {Schema: &huma.Schema{Type: huma.TypeString}}}}}
	huma.Register(s.api, export, s.export)
	forUser(s, op("import", http.MethodPost, "/import", "transfer",
		"Import memories as JSON Lines, all or none: the columns of oxbow.memories by name", lineBody), s.importLines)
}

// lineBody describes a body of JSON Lines.
func lineBody(o *huma.Operation) {
	o.MaxBodyBytes = maxImport
	o.RequestBody = &huma.RequestBody{Required: true, Description: "One JSON object a line, at most 1 GiB",
		Content: map[string]*huma.MediaType{lines: {Schema: &huma.Schema{Type: huma.TypeString}}}}
}

// export streams. After the first bytes a failure can only end the connection.
func (s *Server) export(ctx context.Context, _ *nothing) (*huma.StreamResponse, error) {
	user := callerOf(ctx).user
	if user == "" {
		return nil, withHeaders(s.problem(ctx, errNoUser("/export")))
	}
	return &huma.StreamResponse{Body: func(out huma.Context) {
		out.SetHeader("Content-Type", lines)
		r, w := humago.Unwrap(out)
		client := &patient{w, http.NewResponseController(w), false}
		_, err := s.client.ExportUser(out.Context(), user, client)
		switch {
		case err != nil && !client.begun:
			s.fail(w, r, err)
		case err != nil:
			s.log.WarnContext(ctx, "an export failed", "error", err, "request_id", requestID(ctx))
			panic(http.ErrAbortHandler) // so that the client does not take it for complete
		}
	}}, nil
}

// patient gives a client some time for each part of an answer.
type patient struct {
	io.Writer
	connection *http.ResponseController
	begun      bool
}

func (p *patient) Write(text []byte) (int, error) {
	_ = p.connection.SetWriteDeadline(time.Now().Add(chunkTimeout)) // a test's connection may have none
	p.begun = true
	return p.Writer.Write(text)
}

// importLines imports memories. They all become the user's, whatever the lines say.
func (s *Server) importLines(ctx context.Context, user string, in *struct {
	upload
	SkipBad bool   `query:"skip_bad" doc:"Skip and count bad lines, such as traits and the history of an export"`
	Type    string `query:"memory_type" enum:"fact,episodic,document" default:"episodic" doc:"Of lines that do not say"`
}) (Imported, error) {
	body := &limited{Reader: in.body, left: maxImport}
	report, err := s.client.Import(ctx, body, oxbow.ImportOptions{SkipBad: in.SkipBad, MaxBytes: maxImport,
		Type: oxbow.MemoryType(in.Type), Rename: func(string) string { return user }})
	if body.left < 0 || errors.Is(err, store.ErrImportTooLarge) {
		err = huma.NewError(http.StatusRequestEntityTooLarge, "the body has more than 1 GiB")
	}
	if errors.Is(err, oxbow.ErrDenied) {
		err = huma.Error422UnprocessableEntity("only memories can be imported over HTTP: oxbow import takes whole exports")
	}
	return Imported{report.Lines, report.Memories, report.New, report.Bad}, err
}

// limited fails after a number of bytes.
type limited struct {
	io.Reader
	left int64
}

var errTooLarge = errors.New("the body is too large")

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
