package server

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/oxbow-memory/oxbow/documents"
	"github.com/oxbow-memory/oxbow/internal/document"
	"github.com/oxbow-memory/oxbow/store"
)

// NewDocument is a text file to add.
type NewDocument struct {
	Path      string         `json:"path" minLength:"1" maxLength:"1024" doc:"A path or URL. The file replaces one with the same path"`
	Content   string         `json:"content" minLength:"1"`
	MediaType string         `json:"media_type,omitzero" enum:"text/plain,text/markdown,text/html" doc:"Default: by the path and the content"`
	Metadata  map[string]any `json:"metadata,omitempty"`
	ChunkSize int            `json:"chunk_size,omitzero" minimum:"100" maximum:"20000" doc:"Maximum length of a chunk in characters. Default: 1000"`
	Overlap   *int           `json:"overlap,omitempty" minimum:"0" maximum:"10000" doc:"Characters that a chunk repeats. Default: a tenth of chunk_size"`
}

// The limits of a file, with which a backend needs less than 200 MiB.
const (
	maxFile   = 16 << 20 // bytes
	maxChunks = 50_000
)

func file(o *huma.Operation) { o.MaxBodyBytes = maxFile }

func (s *Server) registerDocuments() {
	forUser(s, op("add-document", http.MethodPost, "/documents", "documents",
		"Add a text, Markdown or HTML file", file),
		s.addDocument)
	forUser(s, op("list-documents", http.MethodGet, "/documents", "documents", "List files by path"),
		func(ctx context.Context, user string, _ *nothing) (list[documents.File], error) {
			return listed(documents.Files(ctx, s.client, user))
		})
	forUser(s, op("delete-document", http.MethodDelete, "/documents", "documents",
		"Erase a file and its memories for ever"),
		func(ctx context.Context, user string, in *struct {
			Path string `query:"path" required:"true" minLength:"1" maxLength:"1024"`
		}) (Deleted, error) {
			rows, err := documents.Delete(ctx, s.client, user, in.Path)
			return Deleted{rows}, err
		})
}

func (s *Server) addDocument(ctx context.Context, user string, in *struct {
	Body NewDocument
}) (documents.Report, error) {
	d := in.Body
	head := d.Content[:min(len(d.Content), 1024)]
	if mediaType, err := document.MediaType(d.Path, d.MediaType, []byte(head)); err == nil && mediaType == document.PDF {
		return documents.Report{}, store.Invalid("content", nil, "must be text, Markdown or HTML: oxbow ingest reads PDF files")
	}
	spending := callerOf(ctx).spending
	if err := spending.begin(ctx); err != nil {
		return documents.Report{}, err
	}
	ingest := s.ingests.begin(callerOf(ctx))
	defer ingest.end()
	if err := ingest.take(1); err != nil {
		return documents.Report{}, err
	}
	f := documents.NewFile{UserID: user, Path: d.Path, MediaType: d.MediaType, Content: strings.NewReader(d.Content),
		ChunkSize: d.ChunkSize, Overlap: d.Overlap, MaxChunks: maxChunks}
	if d.Metadata != nil {
		f.Metadata = d.Metadata
	}
	defer spending.computing()()
	report, err := documents.Ingest(ctx, s.client, f)
	spending.later(report.Added)
	return report, err
}
