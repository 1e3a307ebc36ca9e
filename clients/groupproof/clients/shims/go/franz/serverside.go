//go:build serverside

package main

import "github.com/twmb/franz-go/pkg/kgo"

// KIP-848, since 1.22 by an option of its own; before, it was a beta behind the value of a context.
var dialects = []string{"classic", "consumer"}

func serverSide() []kgo.Opt { return []kgo.Opt{kgo.ServerSideBalancer()} }
