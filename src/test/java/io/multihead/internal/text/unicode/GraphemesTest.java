package io.multihead.internal.text.unicode;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Clusters are compared with the JDK's regular expressions, which follow the same Unicode annex. */
@Execution(ExecutionMode.CONCURRENT)
class GraphemesTest {
    private static final Pattern CLUSTER = Pattern.compile("\\X");
    private static final String[] PARTS = {
        "a",
        "\u0301",
        "\u00aa",
        "\r",
        "\n",
        "\u200d",
        "\u200c",
        "\u1100",
        "\u1161",
        "\u11a8",
        "\uac00",
        "\uac01",
        "\u00a9",
        "\ud83d\ude00",
        "\ud83c\uddeb",
        "\ud83c\udffb",
        "\ufe0f",
        "\u200b",
        "\u3042"
    };

    private final Graphemes graphemes = new Graphemes();

    /** Each code point is tested after a letter and before a letter, and after a mark that joins the next character. */
    @Test
    void everyCodePointJoinsAsInTheJdk() {
        List<String> different = new ArrayList<>();
        for (int c = 0; c <= Character.MAX_CODE_POINT; c++) {
            // the JDK joins nothing to unassigned code points, and the annex joins characters to ignorable unassigned
            // code points only
            boolean skipped =
                    Character.getType(c) == Character.SURROGATE || Character.getType(c) == Character.UNASSIGNED;
            String text =
                    skipped ? "" : "a" + Character.toString(c) + "b\u0600" + Character.toString(c) + "\u0301\u1161";
            if (!ours(text).equals(jdk(text))) {
                different.add(Integer.toHexString(c));
            }
        }
        assertEquals(List.of("11720", "11721"), different, "marks that the annex excludes and the JDK does not");
    }

    @Test
    void sequencesJoinAsInTheJdk() {
        Random random = new Random(1);
        for (int i = 0; i < 20_000; i++) {
            StringBuilder text = new StringBuilder();
            for (int j = random.nextInt(10); j >= 0; j--) {
                text.append(PARTS[random.nextInt(PARTS.length)]);
            }
            assertEquals(jdk(text.toString()), ours(text.toString()));
        }
    }

    private List<String> ours(String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        List<String> clusters = new ArrayList<>();
        for (int at = 0; at < utf8.length; ) {
            int end = graphemes.end(utf8, at, utf8.length);
            clusters.add(new String(utf8, at, end - at, StandardCharsets.UTF_8));
            at = end;
        }
        return clusters;
    }

    private static List<String> jdk(String text) {
        Matcher matcher = CLUSTER.matcher(text);
        List<String> clusters = new ArrayList<>();
        while (matcher.find()) {
            clusters.add(matcher.group());
        }
        return clusters;
    }
}
