package advice

import "fmt"

// The steps that the engine, the fetchers and the providers know of. They say
// what is wrong; how a person does something about it on the command line
// stands here alone.
const (
	SeeAddresses  = "run aisync status to see the addresses"
	PlanAgain     = "make a new one with aisync plan"
	ListApplies   = "aisync rollback --list shows the applies of this machine"
	ListThem      = "aisync rollback --list shows them"
	FinishRecords = "the next aisync apply finishes the records"
	TakeOver      = "move the file away, then run aisync apply to adopt what is there"
	ForcePrior    = "--force puts back what was there before"
	MergeBoth     = "--merge brings both together"
	WaitForLock   = "wait for it, or give --lock-timeout 1m"
	SeeDoctor     = "see aisync doctor"
	Lock          = "run aisync lock"
	LockOnline    = "run aisync lock while online"
	ForceOrAdopt  = "choose one of them with --force or --adopt"
	AdoptLeaf     = "take the leaf out with aisync adopt, or edit the file"
	UnlinkFirst   = "remove the link, then: aisync apply"
	LockItself    = "aisync lock"
	FoundByLock   = "aisync lock or aisync apply pins them"

	ApplyRetries     = "the next aisync apply tries again"
	ApplyPins        = "aisync apply pins it"
	ApplyPinsFetched = "aisync apply pins what it fetches first"
	ApplyRunsThere   = "run aisync apply on the machine itself"
	ApplyLooks       = "run: aisync apply, or aisync lock (needs the network)"
	BrewUser         = "run aisync apply as the user who owns brew"

	GC              = "aisync models gc removes what no spec wants"
	PullModels      = "fetch models with aisync models pull"
	ListModels      = "run aisync models ls"
	VerifyModels    = "run aisync models verify"
	VerifyDeep      = "run aisync models verify --deep"
	WithCopy        = "run it again with --copy"
	RestartServices = "use aisync services restart or stop"

	UpdateLock = "if the change is right: aisync lock --update, otherwise use another source"
)

// NoTarget is the error for a --target pattern without a match in the plan.
func NoTarget(pattern string) error { return unmatched("--target", pattern) }

// NoExclude is the error for an --exclude pattern without a match in the plan.
func NoExclude(pattern string) error { return unmatched("--exclude", pattern) }

// Unmatched is in the text of both errors.
const Unmatched = "no match in this plan"

func unmatched(flag, pattern string) error {
	return New(fmt.Errorf("%s %s: %s", flag, pattern, Unmatched), SeeAddresses)
}

// MakePlan says how to make the plan file.
func MakePlan(file string) string { return "make one with aisync plan --out " + file }

// MakeNewPlan says how to make the plan file anew.
func MakeNewPlan(file string) string { return "make a new one with aisync plan --out " + file }

// ApplyThere says how to finish what was begun in the project of dir.
func ApplyThere(dir string) string {
	return fmt.Sprintf("run aisync apply there first (aisync apply --project %s)", dir)
}

// RollBackThere says how to take an apply of another project back.
func RollBackThere(id string) string { return "run it there: aisync rollback " + id }

// AnotherSource says how to get a model from elsewhere.
func AnotherSource(model string) string {
	return "fix that, or name another source: aisync models pull " + model + " --source URL"
}

// UpdatePackage returns what to do where a package is another than the pinned one.
func UpdatePackage(name string) string {
	return "if that is right: aisync lock --update " + name
}

// UpdateArchive says how to take over what an address serves now.
func UpdateArchive(name string) string {
	return "check the address; if it rightly serves another archive now: aisync lock --update " + name
}

// ByHand says that commands are left to the person.
func ByHand(commands string) string { return "do it yourself, and run aisync apply again: " + commands }

// ApplyModel says how to get a model that the spec wants.
func ApplyModel(id string) string { return "run aisync apply --target model:" + id }

// LockThenApplyModel says how to get a model that is not pinned yet.
func LockThenApplyModel(id string) string {
	return "run aisync lock, then aisync apply --target model:" + id
}

// RestoreModel says how to get the bytes of a model anew.
func RestoreModel(id string) string { return "run aisync apply --restore --target model:" + id }

// ServerEnded says what to do about the server of a service, a program, that ended for
// a cause or did not load its model.
func ServerEnded(cause, name, program string) string {
	switch cause {
	case "gone", "port":
		return "run aisync doctor: it names which, and what to do"
	case "damaged":
		return "run aisync models verify --deep"
	case "too new":
		return "install a newer server, or take another model; " + program + " --version tells which this is"
	case "picture":
		return "name as mmproj the projector that was published with the model, then run aisync apply"
	case "memory", "killed":
		return "run aisync models fit"
	case "disk":
		return "free space on that disk: df -h tells which is full, aisync models du what models take"
	case "argument":
		return "correct args of service " + name + " in the spec, then run aisync apply"
	}
	return "look at " + ServiceLogs(name)
}

// ServiceLogs is the command that shows what a service wrote.
func ServiceLogs(name string) string { return "aisync services logs " + name }
