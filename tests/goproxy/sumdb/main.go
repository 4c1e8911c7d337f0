// Command sumdb makes a checksum database, as files, for a directory of module files, and prints its verifier key.
//
// Usage: sumdb NAME DIRECTORY; standard input holds one line "module version" for each record.
package main

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/sumdb/note"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	name, directory := os.Args[1], os.Args[2]
	signer, verifier, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		panic(err)
	}
	server := sumdb.NewServer(sumdb.NewTestServer(signer, func(path, version string) ([]byte, error) {
		stem := filepath.Join(directory, must(module.EscapePath(path)), "@v", must(module.EscapeVersion(version)))
		zip := must(dirhash.HashZip(stem+".zip", dirhash.DefaultHash))
		mod := must(dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return os.Open(stem + ".mod") }))
		return []byte(fmt.Sprintf("%s %s %s\n%s %s/go.mod %s\n", path, version, zip, path, version, mod)), nil
	}))
	get := func(path string) []byte {
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, httptest.NewRequest("GET", path, nil))
		if answer.Code != 200 {
			panic(path + ": " + answer.Body.String())
		}
		return answer.Body.Bytes()
	}
	var paths []string
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		path, version, _ := strings.Cut(lines.Text(), " ")
		paths = append(paths, "/lookup/"+must(module.EscapePath(path))+"@"+must(module.EscapeVersion(version)))
	}
	for _, path := range paths {
		get(path) // the second time each comes with the head of the whole tree
	}
	paths = append(paths, "/latest", fmt.Sprintf("/tile/8/0/000.p/%d", len(paths)))
	for _, path := range paths {
		file := filepath.Join(directory, "sumdb", name, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			panic(err)
		}
		if err := os.WriteFile(file, get(path), 0o666); err != nil {
			panic(err)
		}
	}
	fmt.Println(verifier)
}
