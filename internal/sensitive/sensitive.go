// Package sensitive: placeholder until the real one is written; overwrite this file.
package sensitive

// Category is a placeholder.
func Category(string) (string, bool) { return "", false }
