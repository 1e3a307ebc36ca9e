package shim

import (
	"runtime/debug"
	"strings"
)

// builtRelease returns the release of a module that this program was built with; "+patched" says that its sources were put in place of it.
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
		release := strings.TrimPrefix(each.Version, "v")
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
