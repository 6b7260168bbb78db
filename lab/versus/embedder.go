package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/oxbow-memory/oxbow/lab/models"
	"github.com/oxbow-memory/oxbow/lab/must"
)

// embedAll lets the server compute the vectors of texts, which it keeps.
func embedAll(ctx context.Context, s *models.Server, texts []string) {
	body := must.Get(json.Marshal(map[string]any{"input": texts, "encoding_format": "base64"}))
	request := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/embeddings", bytes.NewReader(body)))
	response, err := http.DefaultClient.Do(request)
	must.OK(err)
	defer func() { must.OK(response.Body.Close()) }()
	answer := must.Get(io.ReadAll(response.Body))
	if response.StatusCode != http.StatusOK {
		must.OK(fmt.Errorf("the embedding server: %s", answer))
	}
}
