package groupproof.shim;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** As much JSON as the contract needs. Objects are maps, arrays lists, numbers Long or Double. */
public final class Json {
    private final String text;
    private int at;

    public Json(String text) {
        this.text = text;
    }

    /** Makes an object from names and values in turn; a null value leaves its name out. */
    public static Map<String, Object> of(Object... pairs) {
        Map<String, Object> made = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) if (pairs[i + 1] != null) made.put((String) pairs[i], pairs[i + 1]);
        return made;
    }

    public Object value() {
        switch (peek()) {
            case '{': return object();
            case '[': return array();
            case '"': return string();
            case 't': return word("true", true);
            case 'f': return word("false", false);
            case 'n': return word("null", null);
            default: return number();
        }
    }

    char peek() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) at++;
        return at < text.length() ? text.charAt(at) : '\0';
    }

    boolean skip(char wanted) {
        boolean found = peek() == wanted;
        if (found) at++;
        return found;
    }

    void expect(char wanted) {
        if (!skip(wanted)) throw new IllegalArgumentException("expected " + wanted + " at " + at);
    }

    Object word(String word, Object meaning) {
        if (!text.startsWith(word, at)) throw new IllegalArgumentException("unknown word at " + at);
        at += word.length();
        return meaning;
    }

    Map<String, Object> object() {
        Map<String, Object> made = new LinkedHashMap<>();
        expect('{');
        if (skip('}')) return made;
        do {
            peek();
            String name = string();
            expect(':');
            made.put(name, value());
        } while (skip(','));
        expect('}');
        return made;
    }

    List<Object> array() {
        List<Object> made = new ArrayList<>();
        expect('[');
        if (skip(']')) return made;
        do made.add(value());
        while (skip(','));
        expect(']');
        return made;
    }

    String string() {
        StringBuilder made = new StringBuilder();
        expect('"');
        for (char next = text.charAt(at++); next != '"'; next = text.charAt(at++)) made.append(next == '\\' ? escaped() : next);
        return made.toString();
    }

    char escaped() {
        char kind = text.charAt(at++);
        if (kind == 'u') return (char) Integer.parseInt(text.substring(at, at += 4), 16);
        int place = "bfnrt".indexOf(kind);
        return place < 0 ? kind : "\b\f\n\r\t".charAt(place);
    }

    Number number() {
        int from = at;
        while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) at++;
        String digits = text.substring(from, at);
        return digits.matches("-?\\d+") ? (Number) Long.valueOf(digits) : (Number) Double.valueOf(digits);
    }

    public static String text(Object value) {
        if (value instanceof Map) return joined(((Map<?, ?>) value).entrySet(), "{", "}");
        if (value instanceof Collection) return joined((Collection<?>) value, "[", "]");
        if (value instanceof Map.Entry) return text(((Map.Entry<?, ?>) value).getKey()) + ":" + text(((Map.Entry<?, ?>) value).getValue());
        return value instanceof String ? quoted((String) value) : String.valueOf(value);
    }

    static String joined(Collection<?> values, String open, String close) {
        StringBuilder made = new StringBuilder(open);
        for (Object value : values) made.append(made.length() > 1 ? "," : "").append(text(value));
        return made.append(close).toString();
    }

    static String quoted(String value) {
        StringBuilder made = new StringBuilder("\"");
        for (char each : value.toCharArray()) {
            if (each == '"' || each == '\\') made.append('\\').append(each);
            else if (each < ' ') made.append(String.format("\\u%04x", (int) each));
            else made.append(each);
        }
        return made.append('"').toString();
    }
}
