package ssrf

import (
	"net/url"
	"testing"
)

func TestCheckRefusesLocalAddresses(t *testing.T) {
	for to, want := range map[string]bool{
		"http://127.0.0.1:1/x": true, "http://127.8.8.8/x": true, "http://[::1]/x": true, "http://[::ffff:127.0.0.1]/x": true,
		"http://localhost/": true, "http://LocalHost.:80/": true, "http://a.localhost/": true, "http://0.0.0.0/": true, "http://[::]/": true,
		"http://169.254.169.254/latest": true, "http://[fe80::1%25eth0]/": true,
		"http://10.0.0.1/": false, "https://localhost.example/": false, "https://cdn.example/": false, "http://1.127.0.0/": false,
	} {
		at, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		for from, outside := range map[string]bool{"https://hub.example/": true, "http://10.0.0.1/": true, "http://localhost:8080/": false} {
			f, _ := url.Parse(from)
			if got := Check(f, at) != nil; got != (want && outside) {
				t.Errorf("from %s to %s: refused is %v", from, to, got)
			}
		}
	}
}
