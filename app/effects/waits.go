package effects

import "fmt"

func Waiting(n int) string {
	if n == 1 {
		return "1 effect waits"
	}
	return fmt.Sprintf("%d effects wait", n)
}
