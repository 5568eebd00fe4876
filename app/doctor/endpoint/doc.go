// Package endpoint examines model servers from outside, as a client sees them:
// which models a server names, which APIs it has, whether a prompt brings
// tokens. It starts nothing, writes nothing, and knows nothing of specs. Start
// reading at Endpoint.
package endpoint
