package io.multihead.support;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Compares the code of a page with the code of a test. White space and comments are ignored, since pages are not
 * formatted.
 */
public final class PageCode {
    private static final Pattern BLOCK = Pattern.compile("(?s)```java\n(.*?)```");
    private static final Pattern TYPE = Pattern.compile("(?:class|record) (\\w+)");
    private static final Pattern COMMENT = Pattern.compile("(?s)/\\*.*?\\*/|//[^\n]*");

    private PageCode() {}

    /**
     * Requires that a source has the bodies of all methods of classes and records of a page. {@code types} are the
     * names of these classes and records, or empty for all.
     */
    public static void isTested(Path page, Path source, String... types) throws IOException {
        String tested = compact(Files.readString(source));
        List<String> missing = new ArrayList<>();
        int bodies = 0;
        for (var block : BLOCK.matcher(Files.readString(page)).results().toList()) {
            var type = TYPE.matcher(block.group(1));
            if (type.find() && (types.length == 0 || List.of(types).contains(type.group(1)))) {
                for (String body : bodies(compact(block.group(1)))) {
                    if (!tested.contains(body)) {
                        missing.add(type.group(1) + ": " + body);
                    }
                    bodies++;
                }
            }
        }
        assertEquals(List.of(), missing, page + " and " + source);
        assertTrue(bodies > 0, page + " has no method of a type");
    }

    private static String compact(String code) {
        return COMMENT.matcher(code).replaceAll("").replaceAll("\\s+", "");
    }

    /** Returns the blocks in braces within the braces of the type. */
    private static List<String> bodies(String code) {
        List<String> bodies = new ArrayList<>();
        int depth = 0;
        int start = 0;
        for (int i = 0; i < code.length(); i++) {
            if (code.charAt(i) == '{' && ++depth == 2) {
                start = i;
            } else if (code.charAt(i) == '}' && --depth == 1) {
                bodies.add(code.substring(start, i + 1));
            }
        }
        return bodies;
    }
}
