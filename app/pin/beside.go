package pin

import (
	"fmt"

	"aisync.dev/aisync/schema/spec"
)

// Unfit says why no llama-server serves the model of use with the projector and the
// draft that it names, as a sentence with what to write instead; "" if it does, or if
// a header is unknown.
func (r *Resolver) Unfit(use spec.ModelUse) string {
	own, _ := r.Chosen(use.ID)
	if own.Shape.Projects() {
		return fmt.Sprintf("model %s is a projector, which only shows another model pictures: name it as the mmproj of that one", use.ID)
	}
	if draft, ok := r.Chosen(use.Draft); ok && draft.Shape.Projects() {
		return fmt.Sprintf("draft %s of model %s is a projector: name it as the mmproj", use.Draft, use.ID)
	}
	beside, ok := r.Chosen(use.Projector)
	switch {
	case !ok || beside.Shape == nil:
		return ""
	case !beside.Shape.Projects():
		return fmt.Sprintf("mmproj %s of model %s is a language model, and no projector", use.Projector, use.ID)
	case own.Shape == nil || beside.Shape.Embedding == 0 || own.Shape.Embedding == beside.Shape.Embedding:
		return ""
	}
	return fmt.Sprintf("mmproj %s is the projector of another model: it makes tokens of %d numbers, and model %s takes %d; name the one that was published with %s", use.Projector, beside.Shape.Embedding, use.ID, own.Shape.Embedding, use.ID)
}
