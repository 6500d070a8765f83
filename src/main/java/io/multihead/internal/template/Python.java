package io.multihead.internal.template;

import java.math.BigDecimal;
import java.util.Locale;

/** Python's behavior with characters and numbers, if it differs from Java's. */
final class Python {
    private static final int NEXT_LINE = 0x85;
    private static final double SMALLEST_PLAIN = 1e-4;
    private static final double LARGEST_PLAIN = 1e16;

    private Python() {}

    /** Returns whether Python's {@code str.isspace} is true for a character: white space in Unicode, including no-break spaces. */
    static boolean isSpace(char c) {
        return Character.isWhitespace(c) || Character.isSpaceChar(c) || c == NEXT_LINE;
    }

    /** Returns {@code repr} of a float: the shortest digits, with an exponent below 1e-4 and from 1e16 on. */
    static String number(double value) {
        if (Double.isNaN(value)) {
            return "nan";
        }
        if (Double.isInfinite(value)) {
            return value > 0 ? "inf" : "-inf";
        }
        double size = Math.abs(value);
        if (size == 0) {
            return 1 / value > 0 ? "0.0" : "-0.0";
        }
        BigDecimal exact = new BigDecimal(Double.toString(value)).stripTrailingZeros();
        if (size >= SMALLEST_PLAIN && size < LARGEST_PLAIN) {
            String plain = exact.toPlainString();
            return plain.indexOf('.') < 0 ? plain + ".0" : plain;
        }
        String digits = exact.unscaledValue().abs().toString();
        int exponent = digits.length() - 1 - exact.scale();
        String fraction = digits.length() > 1 ? "." + digits.substring(1) : "";
        return (value < 0 ? "-" : "") + digits.charAt(0) + fraction + "e" + (exponent < 0 ? "-" : "+")
                + String.format(Locale.ROOT, "%02d", Math.abs(exponent));
    }
}
