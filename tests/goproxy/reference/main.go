// Command reference reads JSON lines {"op", "text"} and answers each with what the go command's own code says.
//
// It is built by the tests against the copies of golang.org/x/mod that every Go distribution brings, so that the
// gateway's grammar is compared with the original and not with another reading of the documentation.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

type question struct {
	Op   string `json:"op"`
	Text string `json:"text"`
}

type answer struct {
	OK    bool     `json:"ok"`
	Texts []string `json:"texts"`
}

func ask(q question) answer {
	switch q.Op {
	case "path":
		path, err := module.UnescapePath(q.Text)
		return answer{OK: err == nil, Texts: []string{path}}
	case "version":
		version, err := module.UnescapeVersion(q.Text)
		return answer{OK: err == nil, Texts: []string{version}}
	case "canonical":
		return answer{OK: q.Text != "" && module.CanonicalVersion(q.Text) == q.Text}
	case "gomod":
		var texts []string
		if path := modfile.ModulePath([]byte(q.Text)); path != "" {
			texts = append(texts, path)
		}
		file, err := modfile.ParseLax("go.mod", []byte(q.Text), nil)
		if err == nil && file.Module != nil {
			texts = append(texts, file.Module.Mod.Path)
		}
		return answer{OK: true, Texts: texts}
	}
	return answer{}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			panic(err)
		}
		text, _ := json.Marshal(ask(q))
		out.Write(append(text, '\n'))
		out.Flush()
	}
}
