package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// use makes a key with the server's login, as the documentation says, and adds a memory over HTTP that the worker must
// make searchable.
func use(ctx context.Context, image *image, env []string, user, url string) {
	key := must.Get(image.run(ctx, env, "keys", "api", "create", "--user", user, "--name", "try"))
	call := func(path string, body any) (string, error) {
		text := must.Get(json.Marshal(body))
		r := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, image.here(url)+path, bytes.NewReader(text)))
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(key))
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		got, err := io.ReadAll(answer.Body)
		if err == nil && answer.StatusCode >= 300 {
			err = fmt.Errorf("%s answers %s: %s", path, answer.Status, got)
		}
		return string(got), err
	}
	must.Get(call("/memories", map[string]string{"content": "Ada lives in Lisbon"}))
	must.OK(until(ctx, func() error {
		found, err := call("/recall", map[string]string{"query": "Where does Ada live?"})
		if err == nil && !strings.Contains(found, "Lisbon") {
			err = fmt.Errorf("recall does not find the memory: %s", found)
		}
		return err
	}))
}
