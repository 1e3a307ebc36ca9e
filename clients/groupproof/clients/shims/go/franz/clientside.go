//go:build !serverside

package main

import "github.com/twmb/franz-go/pkg/kgo"

// Of these releases the protocol of KIP-848 is a hidden beta, or is not there.
var dialects = []string{"classic"}

func serverSide() []kgo.Opt { return nil }
