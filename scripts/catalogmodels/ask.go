package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// endpoint is the hub to ask.
func endpoint() string {
	return strings.TrimRight(cmp.Or(os.Getenv("HF_ENDPOINT"), "https://huggingface.co"), "/")
}

// about is what the hub says of a repository; gguf is what it read in the header
// of a file. https://huggingface.co/docs/hub/api
type about struct {
	Sha      string `json:"sha"`
	CardData struct {
		License string `json:"license"`
	} `json:"cardData"`
	GGUF struct {
		Context int64 `json:"context_length"`
	} `json:"gguf"`
	Siblings []struct {
		Path string `json:"rfilename"`
		Size int64  `json:"size"`
	} `json:"siblings"`
}

// ask sets what the hub knows of m: the sizes of its files, which must all be
// there, its license and its context. A fact that the hub does not tell stays.
func (m *model) ask(hub, date string) error {
	at := hub + "/api/models/" + m.Repo + "?blobs=true"
	client := http.Client{Timeout: time.Minute}
	response, err := client.Get(at)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", at, response.Status)
	}
	var a about
	if err := json.NewDecoder(response.Body).Decode(&a); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	sizes := map[string]int64{}
	for _, s := range a.Siblings {
		sizes[s.Path] = s.Size
	}
	for i, q := range m.Quants {
		if sizes[q.Path] <= 0 {
			return fmt.Errorf("%s has no %s with a size", at, q.Path)
		}
		m.Quants[i].Size = strconv.FormatInt(sizes[q.Path], 10)
	}
	told := []string{"files", "sizes"}
	if a.CardData.License != "" {
		told, m.License = append(told, "license"), spdx(a.CardData.License)
	}
	if a.GGUF.Context > 0 {
		told, m.Context = append(told, "context"), a.GGUF.Context
	}
	kept := []source{{Tells: strings.Join(told, ", "), URL: at + ", commit " + a.Sha, Date: date}}
	for _, s := range m.Sources {
		var left []string
		for fact := range strings.SplitSeq(s.Tells, ", ") {
			known := false
			for _, t := range told {
				known = known || strings.HasPrefix(fact, t)
			}
			if !known {
				left = append(left, fact)
			}
		}
		if len(left) > 0 {
			kept = append(kept, source{Tells: strings.Join(left, ", "), URL: s.URL, Date: s.Date})
		}
	}
	m.Sources = kept
	return nil
}

// spdx writes a license of the hub as SPDX does.
func spdx(license string) string {
	if name, ok := map[string]string{"apache-2.0": "Apache-2.0", "mit": "MIT"}[license]; ok {
		return name
	}
	return license
}
