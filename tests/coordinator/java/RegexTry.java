import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** RE2/J as Kafka's broker uses it. A line on stdin is an expression and names, separated by tabs; a line on stdout is what is wrong, or a 1 for each name that matches. */
public final class RegexTry {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            out.println(tried(line.split("\t", -1)));
        }
    }

    private static String tried(String[] fields) {
        try {
            Pattern pattern = Pattern.compile(fields[0]);
            StringBuilder matches = new StringBuilder("ok ");
            for (int name = 1; name < fields.length; name++) {
                matches.append(pattern.matcher(fields[name]).matches() ? '1' : '0');
            }
            return matches.toString();
        } catch (PatternSyntaxException refusal) {
            return "bad " + refusal.getDescription();
        }
    }
}
