package io.multihead.internal.template;

import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/** Writes a time as C's {@code strftime} does in English. */
final class Clock {
    private Clock() {}

    static String format(LocalDateTime time, String format) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < format.length(); i++) {
            char c = format.charAt(i);
            if (c != '%' || i + 1 == format.length()) {
                text.append(c);
                continue;
            }
            char directive = format.charAt(++i);
            boolean unpadded = directive == '-' && i + 1 < format.length();
            if (unpadded) {
                directive = format.charAt(++i);
            }
            String value = directive == '%'
                    ? "%"
                    : DateTimeFormatter.ofPattern(pattern(directive), Locale.ENGLISH)
                            .format(time);
            text.append(unpadded && value.length() > 1 && value.charAt(0) == '0' ? value.substring(1) : value);
        }
        return text.toString();
    }

    private static String pattern(char directive) {
        return switch (directive) {
            case 'Y' -> "yyyy";
            case 'y' -> "yy";
            case 'm' -> "MM";
            case 'd' -> "dd";
            case 'B' -> "MMMM";
            case 'b', 'h' -> "MMM";
            case 'A' -> "EEEE";
            case 'a' -> "EEE";
            case 'H' -> "HH";
            case 'I' -> "hh";
            case 'M' -> "mm";
            case 'S' -> "ss";
            case 'p' -> "a";
            case 'j' -> "DDD";
            case 'F' -> "yyyy-MM-dd";
            case 'T' -> "HH:mm:ss";
            case 'D' -> "MM/dd/yy";
            case 'R' -> "HH:mm";
            default -> throw new Fault("strftime_now with %" + directive + " is not implemented");
        };
    }
}
