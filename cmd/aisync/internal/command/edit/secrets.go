package edit

import (
	"fmt"
	"strings"

	"aisync.dev/aisync/cmd/aisync/internal/cli"
	"aisync.dev/aisync/internal/advice"
	"aisync.dev/aisync/internal/secret"
	"aisync.dev/aisync/internal/termtext"
)

// keepOut replaces typed values that are secrets by references to variables, and
// says which variables to export. flag names the values.
func (v *valueFlags) keepOut(flag string, a *cli.App) error {
	var plain []string
	for _, s := range v.plain {
		name, value, err := assignment(flag, s)
		if err != nil {
			return err
		}
		kind := secret.Value(value, name)
		if kind == "" {
			plain = append(plain, s)
			continue
		}
		variable := strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
		if scheme, _, ok := secret.Scheme(value); ok {
			plain = append(plain, name+"="+scheme+" ${"+variable+"}")
		} else {
			v.from = append(v.from, name+"="+variable)
		}
		a.Say("aisync: warning: the value of %s is %s and stays out of the spec, which names the variable %s instead; export it where the programs start", termtext.Safe(name), kind, termtext.Safe(variable))
	}
	v.plain = plain
	return nil
}

// refuseSecrets returns an error if the command line or the address of a server holds
// a secret.
func refuseSecrets(name string, args []string, url string) error {
	what, kind := "the address", secret.Value(url)
	if i, found := secret.Args(args); found != "" {
		what, kind = fmt.Sprintf("argument %d of the command", i+1), found
	}
	if kind == "" {
		return nil
	}
	return advice.New(fmt.Errorf("add mcp %s: %s holds %s, and a spec is made for git; nothing was written", termtext.Safe(name), what, kind),
		"pass it to the server in a variable, --env-from NAME=VARIABLE, or in a header, --header-from NAME=VARIABLE")
}

// newSecret returns an error if a change of file brings a secret that old does not
// have.
func newSecret(file, old, text string) error {
	for _, m := range secret.Find(text) {
		if !strings.Contains(old, text[m.Start:m.End]) {
			return advice.New(fmt.Errorf("%s:%d would hold %s, and a spec is made for git; nothing was written", file, secret.Line(text, m.Start), m.Kind), "name a variable of the environment instead")
		}
	}
	return nil
}
