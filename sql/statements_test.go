package sqlcode_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module is the path of the packages whose statements are read.
const module = "github.com/oxbow-memory/oxbow"

// declaration is a function, a method, a variable or a constant of the module.
type declaration struct {
	pkg, file, name string
	texts           []string        // its string literals
	uses            map[string]bool // full names, and names of methods called through an interface
}

// statementsOf returns the SQL texts in the declarations that from selects, in those that they use, and so on. The
// packages are those of the patterns and what they import.
func statementsOf(t *testing.T, patterns []string, from func(declaration) bool) (texts []string) {
	t.Helper()
	named := map[string][]*declaration{}
	var queue []*declaration
	for _, d := range declarations(t, patterns) {
		named[d.name] = append(named[d.name], d)
		if i := strings.LastIndex(d.name, ")."); i > 0 { // a method
			named[d.name[i+1:]] = append(named[d.name[i+1:]], d)
		}
		if from(*d) {
			queue = append(queue, d)
		}
	}
	require.NotEmpty(t, queue)
	reached := map[*declaration]bool{}
	for ; len(queue) > 0; queue = queue[1:] {
		d := queue[0]
		if reached[d] {
			continue
		}
		reached[d] = true
		for _, text := range d.texts {
			if strings.Contains(text, "oxbow.") {
				texts = append(texts, text)
			}
		}
		for use := range d.uses {
			queue = append(queue, named[use]...)
		}
	}
	return texts
}

// declarations reads the packages of the module among those of the patterns and what they import.
func declarations(t *testing.T, patterns []string) (all []*declaration) {
	t.Helper()
	list := osexec.CommandContext(t.Context(), "go", append([]string{"list", "-export", "-deps",
		"-json=ImportPath,Dir,GoFiles,Export"}, patterns...)...)
	list.Dir = ".."
	list.Stderr = os.Stderr
	out, err := list.Output()
	require.NoError(t, err)
	type pkg struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	var ours []pkg
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module) {
			ours = append(ours, p)
		}
	}
	fset := token.NewFileSet()
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	for _, p := range ours {
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			require.NoError(t, err)
			files = append(files, file)
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
		_, err := config.Check(p.ImportPath, fset, files, info)
		require.NoError(t, err)
		for i, file := range files {
			for _, node := range file.Decls {
				all = append(all, declared(node, info, p.ImportPath, p.GoFiles[i])...)
			}
		}
	}
	return all
}

// declared returns what a declaration of a file declares.
func declared(node ast.Decl, info *types.Info, pkg, file string) (all []*declaration) {
	add := func(name *ast.Ident, body ast.Node) {
		d := &declaration{pkg: pkg, file: file, name: pkg + "." + name.Name, uses: map[string]bool{}}
		if f, ok := info.Defs[name].(*types.Func); ok {
			d.name = f.FullName()
		}
		ast.Inspect(body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					d.texts = append(d.texts, text)
				}
			case *ast.Ident:
				if used := info.Uses[n]; used != nil && used.Pkg() != nil {
					d.uses[nameOf(used)] = true
				}
			}
			return true
		})
		all = append(all, d)
	}
	switch node := node.(type) {
	case *ast.FuncDecl:
		add(node.Name, node)
	case *ast.GenDecl:
		for _, spec := range node.Specs {
			if values, ok := spec.(*ast.ValueSpec); ok {
				for _, name := range values.Names {
					add(name, values)
				}
			}
		}
	}
	return all
}

// nameOf returns the full name of an object, or the name alone of a method of an interface.
func nameOf(used types.Object) string {
	f, ok := used.(*types.Func)
	if !ok {
		if used.Parent() == used.Pkg().Scope() {
			return used.Pkg().Path() + "." + used.Name()
		}
		return "" // a local variable or a field
	}
	if recv := f.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		return "." + f.Name()
	}
	return f.Origin().FullName()
}
