// Package userpaths lists where a runtime's parts of user scope lie. It reads entries
// of the catalog, and no file. Call Of, or Left for an entry that extends another.
package userpaths

import (
	"reflect"
	"slices"
	"strings"

	"aisync.dev/aisync/schema/spec"
)

// Of returns the paths "~/…" of a scope.
func Of(s spec.Scope) []string { return pathsIn(reflect.ValueOf(s)) }

// Left returns, sorted, the paths of rt that lie where other's do, although rt, which
// extends other, has another folder.
func Left(rt, other spec.Runtime) []string {
	if rt.User.Dir == other.User.Dir || other.User.Dir == "" {
		return nil
	}
	theirs := Of(other.User)
	left := slices.DeleteFunc(Of(rt.User), func(p string) bool { return !strings.HasPrefix(p, other.User.Dir) || !slices.Contains(theirs, p) })
	slices.Sort(left)
	return slices.Compact(left)
}

// Below reports whether p is dir or lies in it.
func Below(dir, p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// pathsIn returns the paths "~/…" in v, a Scope or a part of one.
func pathsIn(v reflect.Value) []string {
	var out []string
	switch v.Kind() {
	case reflect.String:
		if strings.HasPrefix(v.String(), "~/") {
			out = append(out, v.String())
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return pathsIn(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			out = append(out, pathsIn(v.Field(i))...)
		}
	case reflect.Slice:
		for i := range v.Len() {
			out = append(out, pathsIn(v.Index(i))...)
		}
	}
	return out
}
