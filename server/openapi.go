package server

import (
	"bytes"
	"encoding/json"
)

// OpenAPI returns openapi.json: the description of the API.
func OpenAPI() ([]byte, error) {
	s := &Server{cfg: Config{}.withDefaults()}
	s.routes() // the operations use the database only when they are called
	encoded, err := json.Marshal(s.api.OpenAPI())
	if err != nil {
		return nil, err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, encoded, "", "  "); err != nil {
		return nil, err
	}
	indented.WriteByte('\n')
	return indented.Bytes(), nil
}
