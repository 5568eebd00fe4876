package gguftest

import (
	"embed"
	"path"
	"slices"
	"strings"
)

//go:embed chats
var chats embed.FS

// ChatNames are the chat templates of Chat. Each is short, and has the form of
// published ones:
//
//	chatml       Qwen2.5, QwQ, Qwen3      phi4-mini  Phi 4 mini
//	qwen3-coder  Qwen3-Coder              harmony    gpt-oss
//	granite      Granite 4                sections   Kimi K2
//	llama3       Llama 3.1 to 3.3         keys       GLM 4.5 and 4.6
//	mistral      Devstral, Ministral 3    call-ids   Mistral Small 3.2
//	turns        Gemma 2, without tools   roles      Phi 3.5, without tools
func ChatNames() []string {
	files, err := chats.ReadDir("chats")
	if err != nil {
		panic(err) // they are part of the program
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".jinja"))
	}
	return slices.Sorted(slices.Values(names))
}

// Chat is one of ChatNames.
func Chat(name string) string {
	text, err := chats.ReadFile(path.Join("chats", name+".jinja"))
	if err != nil {
		panic(err) // a test asks for what is not there
	}
	return string(text)
}
