package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// The limits of exports and imports.
const (
	transferTimeout     = 10 * time.Minute
	chunkTimeout        = 30 * time.Second // for a client to take the rest of another answer
	maxImport           = 1 << 30          // bytes
	partSize            = 256 << 10        // bytes of an import that are kept in memory
	transferConnections = 4                // of the pool, in addition to those for requests
	connectionTimeout   = 30 * time.Second // for one of them to become free
	keyExports          = 2                // at once; of one user only one
	keyImports          = 16               // at once; of one user only one
	paceWindow          = 20 * time.Second // of waiting for a client, which must move paceBytes in it
	paceBytes           = 320 << 10        // bytes: 16 KiB a second
	lines               = "application/x-ndjson"
)

// Imported counts what an import read and stored.
type Imported struct {
	Lines    int   `json:"lines" doc:"Read, including blank ones"`
	Memories int   `json:"memories" doc:"Lines with a memory"`
	New      int64 `json:"new" doc:"Memories that did not exist"`
	Bad      int   `json:"bad" doc:"Lines that were skipped"`
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

// transfers bounds the exports and imports of each user and key, and the connections that all of them hold, so that they
// never delay other requests.
type transfers struct {
	connections chan struct{}

	mu      sync.Mutex
	running map[transfer]int
}

// transfer identifies transfers that are counted together.
type transfer struct {
	operation string
	bucket
}

func newTransfers() *transfers {
	return &transfers{connections: make(chan struct{}, transferConnections), running: map[transfer]int{}}
}

var (
	errTransfers = huma.Error429TooManyRequests("as many exports or imports of the user or the key as may run at once " +
		"are running: try again when one has ended")
	errNoConnection = huma.Error503ServiceUnavailable("too many exports and imports are running: try again later")
)

// begin counts a transfer, or returns an error if too many are running.
func (t *transfers) begin(operation string, who caller, ofKey int) (done func(), err error) {
	limits := map[transfer]int{{operation, bucket{user: who.user}}: 1}
	if who.key != uuid.Nil {
		limits[transfer{operation, bucket{key: who.key}}] = ofKey
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for whose, limit := range limits {
		if t.running[whose] >= limit {
			return nil, errTransfers
		}
	}
	for whose := range limits {
		t.running[whose]++
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for whose := range limits {
			if t.running[whose]--; t.running[whose] == 0 {
				delete(t.running, whose)
			}
		}
	}, nil
}

// connection waits until a transfer may take a connection from the pool.
func (t *transfers) connection(ctx context.Context) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, connectionTimeout)
	defer cancel()
	select {
	case t.connections <- struct{}{}:
		return func() { <-t.connections }, nil
	case <-ctx.Done():
		return nil, errNoConnection
	}
}

// pace ends a transfer whose client is too slow. Only the time that is spent waiting for the client counts.
type pace struct {
	end    time.Time // of the request
	waited time.Duration
	moved  int
}

func paceOf(ctx context.Context) pace {
	end, _ := ctx.Deadline()
	return pace{end: end}
}

// deadline returns when the client must have taken or sent the next bytes.
func (p *pace) deadline() time.Time {
	deadline := time.Now().Add(paceWindow - p.waited)
	if !p.end.IsZero() && p.end.Before(deadline) {
		return p.end
	}
	return deadline
}

func (p *pace) count(begun time.Time, n int) {
	p.waited += time.Since(begun)
	if p.moved += n; p.moved >= paceBytes {
		p.waited, p.moved = 0, 0
	}
}

// export streams. After the first bytes a failure can only end the connection.
func (s *Server) export(ctx context.Context, _ *nothing) (*huma.StreamResponse, error) {
	who := callerOf(ctx)
	if who.user == "" {
		err := errNoUser("/export")
		return nil, withHeaders(s.problem(ctx, err), err)
	}
	entry, _ := ctx.Value(accessKey{}).(*access)
	return &huma.StreamResponse{Body: func(out huma.Context) {
		_, w := humago.Unwrap(out)
		out.SetHeader("Content-Type", lines)
		begun, err := s.sendExport(out.Context(), who, w, func() error {
			if err := entry.begin(ctx); err != nil {
				return err
			}
			out.SetStatus(http.StatusOK)
			return nil
		})
		switch {
		case err != nil && !begun:
			s.refuse(out, err)
		case err != nil:
			s.log.WarnContext(ctx, "an export failed", "error", err, "request_id", requestID(ctx))
			panic(http.ErrAbortHandler) // so that the client does not take it for complete
		case !begun: // there is nothing
			out.SetStatus(http.StatusOK)
		}
	}}, nil
}

// sendExport writes all data of a user to a client. It calls begin before the first byte; begun reports whether begin
// succeeded.
func (s *Server) sendExport(ctx context.Context, who caller, w http.ResponseWriter, begin func() error) (
	begun bool, err error,
) {
	done, err := s.transfers.begin("export", who, keyExports)
	if err != nil {
		return false, err
	}
	defer done()
	release, err := s.transfers.connection(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	ctx = beyondShare(ctx)
	client := &patient{w, http.NewResponseController(w), paceOf(ctx), begin, false}
	_, err = s.client.ExportUser(ctx, who.user, client)
	_ = client.connection.SetWriteDeadline(time.Now().Add(chunkTimeout)) // for what is buffered
	return client.begun, err
}

// patient writes to a client that keeps pace.
type patient struct {
	io.Writer
	connection *http.ResponseController
	pace       pace
	begin      func() error
	begun      bool
}

func (p *patient) Write(text []byte) (written int, err error) {
	if !p.begun {
		if err := p.begin(); err != nil {
			return 0, err
		}
		p.begun = true
	}
	for written < len(text) && err == nil {
		var n int
		begun := time.Now()
		_ = p.connection.SetWriteDeadline(p.pace.deadline()) // a test's connection may have none
		n, err = p.Writer.Write(text[written:min(len(text), written+64<<10)])
		p.pace.count(begun, n)
		written += n
	}
	return written, err
}

// upload is the body of a request, which is read as it arrives.
type upload struct{ body io.Reader }

// Resolve is called by huma.
func (u *upload) Resolve(ctx huma.Context) []error {
	_, w := humago.Unwrap(ctx)
	u.body = &slowly{ctx.BodyReader(), http.NewResponseController(w), paceOf(ctx.Context())}
	return nil
}

var (
	errTooSlow  = huma.NewError(http.StatusRequestTimeout, "the body arrives too slowly: send at least 16 KiB a second")
	errTooLarge = huma.NewError(http.StatusRequestEntityTooLarge, "the body has more than 1 GiB")
)

// slowly reads from a client that keeps pace.
type slowly struct {
	io.Reader
	connection *http.ResponseController
	pace       pace
}

func (s *slowly) Read(p []byte) (int, error) {
	begun := time.Now()
	_ = s.connection.SetReadDeadline(s.pace.deadline()) // a test's connection may have none
	n, err := s.Reader.Read(p)
	s.pace.count(begun, n)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		_ = s.connection.SetReadDeadline(time.Time{}) // else its end would cancel the request
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errTooSlow
	default:
		err = huma.Error400BadRequest("the body cannot be read: " + err.Error())
	}
	return n, err
}

// importLines imports memories. They all become the user's, whatever the lines say. While the body arrives, no
// transaction is open: its parts wait in a table.
func (s *Server) importLines(ctx context.Context, user string, in *struct {
	upload
	SkipBad bool   `query:"skip_bad" doc:"Skip and count bad lines, such as traits and the history of an export"`
	Type    string `query:"memory_type" enum:"fact,episodic,document" default:"episodic" doc:"Of lines that do not say"`
}) (Imported, error) {
	who := callerOf(ctx)
	done, err := s.transfers.begin("import", who, keyImports)
	if err != nil {
		return Imported{}, err
	}
	defer done()
	if err := who.spending.begin(ctx); err != nil {
		return Imported{}, err
	}
	who.spending.settle() // it may take long, and counts by its rows
	file, rest, err := s.stage(ctx, user, &limited{Reader: in.body, left: maxImport})
	if err != nil {
		return Imported{}, s.unstage(ctx, file, err)
	}
	release, err := s.transfers.connection(ctx)
	if err != nil {
		return Imported{}, s.unstage(ctx, file, err)
	}
	defer release()
	ctx = beyondShare(ctx)
	var report oxbow.ImportReport
	err = s.client.InTx(ctx, user, func(tx pgx.Tx) error {
		body := io.MultiReader(file.Reader(ctx, tx), rest)
		report, err = s.client.WithTx(tx).Import(ctx, body, oxbow.ImportOptions{SkipBad: in.SkipBad,
			MaxBytes: maxImport,
			Type:     oxbow.MemoryType(in.Type), OnlyMemories: true, Rename: func(string) string { return user }})
		if err != nil {
			return err
		}
		return file.Delete(ctx, tx)
	})
	who.spending.later(int(report.New))
	return Imported{report.Lines, report.Memories, report.New, report.Bad}, s.unstage(ctx, file, err)
}

// stage stores the body of an import except its last part, which it returns. Each transaction is short.
func (s *Server) stage(ctx context.Context, user string, body io.Reader) (*store.StagedFile, *bytes.Buffer, error) {
	var part bytes.Buffer
	file, err := store.NewStagedFile(user)
	for err == nil {
		if _, err = io.CopyN(&part, body, partSize); err == nil {
			err = s.client.InTx(ctx, user, func(tx pgx.Tx) error { return file.Add(ctx, tx, part.Bytes()) })
			part.Reset()
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return file, &part, err
}

// unstage deletes the parts of an import that failed with err, which it returns. The job settle deletes what remains.
func (s *Server) unstage(ctx context.Context, file *store.StagedFile, err error) error {
	if err == nil || file.Parts == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	failed := s.client.InTx(ctx, file.UserID, func(tx pgx.Tx) error { return file.Delete(ctx, tx) })
	if failed != nil {
		s.log.WarnContext(ctx, "cannot delete the parts of an import", "error", failed, "request_id", requestID(ctx))
	}
	return err
}

// limited fails after a number of bytes.
type limited struct {
	io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
