package io.multihead.grammar;

import java.util.Map;

/** The formats of strings that are regular languages, as regular expressions. */
final class Formats {
    private static final String MONTH_DAY = "(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
            + "|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
            + "|02-(0[1-9]|1[0-9]|2[0-8])";
    private static final String LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29";
    private static final String DATE = "([0-9]{4}-(" + MONTH_DAY + ")|" + LEAP + ")";
    /** Times without leap seconds and with offsets below 18 hours, as in java.time. */
    private static final String TIME =
            "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-](0[0-9]|1[0-7]):[0-5][0-9])";

    private static final String BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";

    private static final Map<String, String> PATTERNS = Map.of(
            "date",
            DATE,
            "time",
            TIME,
            "date-time",
            DATE + "T" + TIME,
            "ipv4",
            "(" + BYTE + "\\.){3}" + BYTE,
            "uuid",
            "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}");

    private Formats() {}

    /** Returns the regular expression of a schema's format. */
    static String pattern(SchemaNode node) {
        String pattern = PATTERNS.get(node.string("format"));
        if (pattern == null) {
            throw node.fail("format", "expected date, time, date-time, ipv4 or uuid; or a pattern");
        }
        return "^(" + pattern + ")$";
    }
}
