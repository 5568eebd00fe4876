package render

// Shapes are the forms in which programs write MCP servers, hooks and
// permissions. An entry of the catalog names the shape of each of its files; a
// shape has the name of the program that introduced it, and others use it too.
const (
	ShapeClaude   = "claude"
	ShapeCodex    = "codex"
	ShapeContinue = "continue"
	ShapeCopilot  = "copilot"
	ShapeCrush    = "crush"
	ShapeCursor   = "cursor"
	ShapeGemini   = "gemini"
	ShapeGoose    = "goose"
	ShapeGrok     = "grok"
	ShapeOpencode = "opencode"
	ShapePlugin   = "opencode-plugin" // a module that runs hooks
	ShapePi       = "pi-extension"    // a module that runs hooks
	ShapePiServer = "pi"
	ShapeCline    = "cline-plugin" // a module that runs hooks
)
