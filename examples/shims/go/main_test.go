package main

import (
	"testing"

	"github.com/groupproof/groupproof/clients/groupproof/clients/shims/go/groupproof"
)

func TestTheClientKeepsTheProtocol(t *testing.T) {
	groupproof.Run(t, groupproof.Build(t, "."))
}
