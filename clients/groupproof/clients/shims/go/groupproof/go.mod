module github.com/groupproof/groupproof/clients/groupproof/clients/shims/go/groupproof

go 1.22
