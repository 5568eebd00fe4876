package view

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"

	"aisync.dev/aisync/internal/bundle/lint"
	"aisync.dev/aisync/internal/hostiletext"
	"aisync.dev/aisync/internal/termtext"
)

// LintSARIF returns a SARIF 2.1.0 log of the findings in the folder dir. Each check
// is a rule.
func LintSARIF(version, dir string, findings []lint.Finding) any {
	rules := []object{}
	for _, c := range lint.Checks {
		r := object{"id": c.Name, "shortDescription": object{"text": c.Doc}}
		if h, ok := hostiletext.RuleOf(c.Name); ok {
			r["help"] = object{"text": h.Do}
			r["properties"] = object{"tags": []string{"security"}}
		}
		rules = append(rules, r)
	}
	results := []object{}
	for _, f := range findings {
		rule := slices.IndexFunc(lint.Checks, func(c lint.Check) bool { return c.Name == f.Check })
		name := path.Join(filepath.ToSlash(dir), f.File)
		artifact := object{"uri": (&url.URL{Path: name}).String(), "uriBaseId": "%SRCROOT%"}
		if path.IsAbs(name) {
			artifact = object{"uri": (&url.URL{Scheme: "file", Path: name}).String()}
		}
		place := object{"artifactLocation": artifact}
		if f.Line > 0 {
			place["region"] = object{"startLine": f.Line}
		}
		sum := sha256.Sum256([]byte(f.Check + "\x00" + f.File + "\x00" + f.Text)) // the same where lines move
		results = append(results, object{
			"ruleId": f.Check, "ruleIndex": rule, "level": string(f.Level),
			"message":             object{"text": termtext.Safe(f.Text)},
			"locations":           []object{{"physicalLocation": place}},
			"partialFingerprints": object{"finding/v1": fmt.Sprintf("%x", sum[:16])},
		})
	}
	return sarifLog(object{
		"tool":        object{"driver": object{"name": "aisync", "version": version, "rules": rules}},
		"invocations": []object{{"executionSuccessful": true}},
		"results":     results,
	})
}
