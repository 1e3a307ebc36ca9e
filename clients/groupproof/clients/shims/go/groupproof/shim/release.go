package shim

import (
	"runtime/debug"
	"strings"
)

// builtRelease returns the release of a module that this program was built with; "+patched" says that its sources were put in place of it. Go's
// "+incompatible", of a module older than modules, is no part of a release.
func builtRelease(module string) string {
	info, known := debug.ReadBuildInfo()
	if !known {
		return "unknown"
	}
	return releaseIn(info.Deps, module)
}

func releaseIn(modules []*debug.Module, module string) string {
	for _, each := range modules {
		if each.Path != module {
			continue
		}
		release := strings.TrimSuffix(strings.TrimPrefix(each.Version, "v"), "+incompatible")
		if each.Replace == nil {
			return release
		}
		if each.Replace.Version != "" && each.Replace.Version != "(devel)" {
			return strings.TrimPrefix(each.Replace.Version, "v")
		}
		return release + "+patched"
	}
	return "unknown"
}
