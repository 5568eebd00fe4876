package doctor

import (
	"cmp"
	"context"
	"strings"

	"aisync.dev/aisync/adapter/start"
	"aisync.dev/aisync/app/doctor/endpoint"
	"aisync.dev/aisync/catalog"
)

// users returns the runtimes that the spec points at the service, with what each
// is told of it.
func (srv *server) users() (out []start.Launch, told start.Server) {
	known := catalog.With(srv.e.spec.Catalog)
	host := start.Host{Spec: srv.e.spec.Host, Runtimes: known.Runtimes(), Models: known.Models(), Home: string(srv.e.places.Home), State: string(srv.e.places.State)}
	for _, l := range host.Launches() {
		if l.Service.Name == srv.service.Name {
			out = append(out, l)
		}
	}
	return out, host.ServerOf(&srv.service)
}

// checkAPIs asks the server for the API with which aisync configures each runtime
// that uses it: the first of the runtime's. What a spec says of a server, and what
// a newer version of it has, does not count.
func (srv *server) checkAPIs(ctx context.Context) (out []Finding) {
	users, told := srv.users()
	has := map[string]bool{}
	for _, l := range users {
		if len(l.Driver.APIs) == 0 {
			continue
		}
		api := l.Driver.APIs[0]
		if _, asked := has[api]; !asked {
			one, cancel := context.WithTimeout(ctx, cmp.Or(srv.e.options.Timeout, endpointLimit))
			ok, err := srv.endpoint.Has(one, api)
			cancel()
			if endpoint.Refused(err) {
				return append(out, srv.refused(err))
			}
			if err != nil {
				return append(out, fail(srv.advice(), "%v", err))
			}
			has[api] = ok
		}
		if !has[api] {
			out = append(out, fail(srv.fixAPI(l.ID, api), "%s has no %s, which %s needs", srv.endpoint.URL, endpoint.PathOf(api), l.ID))
		}
	}
	return append(append(out, srv.checkTools(ctx, users, told)...), srv.checkContexts(ctx, users, told)...)
}

// checkTools reports models with which an ollama refuses the tools that programs
// send. A program that has neither hooks nor MCP servers sends none.
func (srv *server) checkTools(ctx context.Context, users []start.Launch, told start.Server) (out []Finding) {
	var ids []string
	for _, l := range users {
		if l.Driver.MCPSupport || l.Driver.Hooks == "native" {
			ids = append(ids, l.ID)
		}
	}
	names, err := srv.names()
	if len(ids) == 0 || err != nil || srv.service.Kind != "ollama" && srv.service.Kind != "external" {
		return nil
	}
	for _, m := range told.Models {
		one, cancel := context.WithTimeout(ctx, cmp.Or(srv.e.options.Timeout, endpointLimit))
		takes, known := srv.endpoint.Tools(one, cmp.Or(srv.named(names, m.Name), m.Name))
		cancel()
		if known && !takes {
			out = append(out, fail(`serve the model with kind: "llama-server", or a newer ollama; aisync plan tells what its prompt template has`,
				"%s offers no tools with %s, and refuses what %s sends", srv.endpoint.URL, m.Name, strings.Join(ids, ", ")))
		}
	}
	return out
}

// newer are the programs to install for an API that older ones lack. Of ollama
// these are releases whose server/routes.go has it.
var newer = map[string]map[string]string{
	"ollama":       {"responses": "ollama 0.13.5 or newer", "messages": "ollama 0.16.1 or newer"},
	"llama-server": {"responses": "a newer llama.cpp", "messages": "a newer llama.cpp"},
	"llama-swap":   {"responses": "a newer llama-swap and llama.cpp", "messages": "a newer llama-swap and llama.cpp"},
}

// fixAPI says what gives a runtime the API that its server lacks.
func (srv *server) fixAPI(runtime, api string) string {
	ways := []string{"write endpoint: false for " + runtime, "name another service for it"}
	if program := newer[srv.service.Kind][api]; program != "" {
		ways = append([]string{"install " + program}, ways...)
	}
	if srv.service.Kind == "ollama" && len(ways) == 3 {
		ways[2] = `serve the model with kind: "llama-server"`
	}
	return strings.Join(ways, ", or ")
}

// checkContexts compares the context that the programs are told of each model with
// what the server grants one conversation, where it says that.
func (srv *server) checkContexts(ctx context.Context, users []start.Launch, told start.Server) (out []Finding) {
	var ids []string
	for _, l := range users {
		ids = append(ids, l.ID)
	}
	fix := "give the model that context when you start the server, or write the context that it has"
	if srv.service.Kind != "external" {
		fix = "aisync services logs " + srv.service.Name + " says why; or write the context that it has, then aisync apply"
	}
	for _, m := range told.Models {
		if m.Context == 0 || len(ids) == 0 {
			continue
		}
		one, cancel := context.WithTimeout(ctx, cmp.Or(srv.e.options.Timeout, endpointLimit))
		granted := srv.endpoint.Context(one, m.Name)
		cancel()
		if granted == 0 || granted >= m.Context {
			continue
		}
		of := ""
		if len(told.Models) > 1 {
			of = " with " + m.Name
		}
		out = append(out, fail(fix, "%s grants a conversation%s %d tokens, and %s counts on %d: longer ones fail", srv.endpoint.URL, of, granted, strings.Join(ids, ", "), m.Context))
	}
	return out
}
