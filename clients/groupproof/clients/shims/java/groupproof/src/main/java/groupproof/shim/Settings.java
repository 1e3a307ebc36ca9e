package groupproof.shim;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;

/** The fields of `subscribe`; what no shim takes is listed as ignored in the answer. */
public final class Settings {
    private final Map<String, Object> fields;
    private final Set<String> ignored;

    public Settings(Map<String, Object> command) {
        fields = new HashMap<>(command);
        fields.values().removeIf(Objects::isNull);
        ignored = new TreeSet<>(fields.keySet());
        ignored.removeAll(Set.of("id", "command", "member"));
    }

    public boolean has(String name) {
        return fields.containsKey(name);
    }

    @SuppressWarnings("unchecked")
    public <T> T take(String name, T otherwise) {
        ignored.remove(name);
        return (T) fields.getOrDefault(name, otherwise);
    }

    public long takeLong(String name, long otherwise) {
        return this.<Number>take(name, otherwise).longValue();
    }

    public List<String> takeStrings(String name, List<String> otherwise) {
        List<String> found = new ArrayList<>();
        for (Object value : this.<List<?>>take(name, otherwise)) found.add((String) value);
        return found;
    }

    /** Lists a field as ignored although it was looked at: the client cannot have it so. */
    public void ignore(String name) {
        if (has(name)) ignored.add(name);
    }

    public List<String> ignored() {
        return new ArrayList<>(ignored);
    }
}
