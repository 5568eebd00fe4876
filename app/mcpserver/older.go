package mcpserver

import "strings"

// renamed are names of fields before 2025-09-16, and those of packages and
// remotes before 2025-07-09. A name with an underscore is otherwise the new one
// in other letters.
var renamed = map[string]string{"registry_name": "registryType", "transport_type": "type", "file_sha256": "fileSha256", "registry_base_url": "registryBaseUrl"}

// modern returns v with the names of fields that the newest form has. names
// says that the keys of v are names that the publisher chose.
func modern(v any, names bool) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = modern(v[i], false)
		}
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			switch {
			case names || key == "_meta":
				out[key] = modern(value, false)
				continue
			case key == "version_detail":
				detail, _ := value.(map[string]any)
				out["version"] = detail["version"]
				continue
			}
			out[camel(key)] = modern(value, key == "variables")
		}
		if old, ok := v["registry_name"]; ok && v["registry_type"] == nil { // a package of 2025-07 and before
			out["identifier"] = v["name"]
			delete(out, "name")
			if old == "docker" {
				out["registryType"] = "oci"
			}
		}
		if out["type"] == "streamable" {
			out["type"] = "streamable-http"
		}
		return out
	}
	return v
}

// camel returns a field's name in the form of 2025-09-16.
func camel(key string) string {
	if to := renamed[key]; to != "" {
		return to
	}
	if key == "" || key[0] == '_' || key[0] == '$' {
		return key
	}
	parts := strings.Split(key, "_")
	for i, p := range parts[1:] {
		if p != "" {
			parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}
