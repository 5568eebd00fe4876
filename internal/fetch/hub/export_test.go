package hub

// What Files, Quant and Locate are made of, for tests that stand outside because
// their endpoint imports this package.
var (
	Commit  = Client.commit
	Resolve = Client.resolve
	Tree    = Client.tree
)
