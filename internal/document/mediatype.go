package document

import (
	"bytes"
	"mime"
	"net/http"
	"path"
	"strings"
)

// The media types that Read accepts. Other text types are read as Text.
const (
	Text     = "text/plain"
	Markdown = "text/markdown"
	HTML     = "text/html"
	PDF      = "application/pdf"
)

const readable = "expected text, Markdown, HTML or PDF"

var byExtension = map[string]string{
	".txt": Text, ".text": Text,
	".md": Markdown, ".markdown": Markdown, ".mdown": Markdown, ".mkd": Markdown,
	".html": HTML, ".htm": HTML, ".xhtml": HTML,
	".pdf": PDF,
}

var byName = map[string]string{
	"text/x-markdown": Markdown, "application/xhtml+xml": HTML, "application/x-pdf": PDF, PDF: PDF,
	"application/json": Text, "application/xml": Text, "application/yaml": Text,
}

// MediaType returns the type to read a file as: given unless it is "", else by the extension of its
// name, else by its contents.
func MediaType(name, given string, content []byte) (string, error) {
	if given != "" {
		return named(given)
	}
	if bytes.HasPrefix(content, []byte("%PDF-")) {
		return PDF, nil
	}
	if known, ok := byExtension[strings.ToLower(path.Ext(name))]; ok {
		return known, nil
	}
	sniffed, _, err := mime.ParseMediaType(http.DetectContentType(content))
	switch {
	case err != nil:
		return "", err
	case sniffed == HTML:
		return HTML, nil
	case strings.HasPrefix(sniffed, "text/"), sniffed == "application/octet-stream":
		return Text, nil // if it is not text, Read gives a better reason
	}
	return "", Errorf("is of the type %s: %s", sniffed, readable)
}

// named returns the supported type that a given type is read as.
func named(given string) (string, error) {
	plain, parameters, err := mime.ParseMediaType(given)
	if err != nil {
		return "", Errorf("cannot be read as %q: expected a media type such as %s", given, Markdown)
	}
	if charset := strings.ToLower(parameters["charset"]); charset != "" && charset != "utf-8" && charset != "us-ascii" {
		return "", Errorf("cannot be read as %s: its encoding must be UTF-8", given)
	}
	switch known, ok := byName[plain]; {
	case ok:
		return known, nil
	case plain == HTML || plain == Markdown:
		return plain, nil
	case strings.HasPrefix(plain, "text/"):
		return Text, nil
	}
	return "", Errorf("cannot be read as %s: %s", given, readable)
}
