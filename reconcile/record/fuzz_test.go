package record

import (
	"bytes"
	"testing"
)

// A lock that was read is written as one that says the same, and equal locks
// have equal bytes.
func FuzzParseLock(f *testing.F) {
	f.Add([]byte(`{"format_version":1}
{"kind":"bundle","name":"rules","values":{"commit":"0","digest":"sha256:1"}}
{"kind":"model","name":"qwen","host":"velox","values":{"quant":"Q6_K"}}
{"kind":"target","address":"file:AGENTS.md","live":"sha256:2","provenance":"created"}
{"kind":"target","address":"file:.mcp.json","format":"json","key":"/a","live":"sha256:3","provenance":"adopted","private":{"made": ["/b"]}}
`))
	f.Add([]byte("{\"format_version\":1}\n<<<<<<< ours\n"))
	f.Add([]byte("\n{\"kind\":\"bundle\"}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseLock("aisync.lock", b)
		if err != nil {
			return
		}
		once := l.Bytes()
		again, err := ParseLock("aisync.lock", once)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, once)
		}
		if twice := again.Bytes(); !bytes.Equal(once, twice) {
			t.Fatalf("%s\n%s", once, twice)
		}
		for _, p := range l.Pins() {
			if got, ok := again.Pin(p.Kind, p.Name, p.Host); !ok || got.Host != p.Host {
				t.Fatalf("the pin %+v is lost: %+v", p, got)
			}
		}
	})
}
